"""There is no axis to flatten."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
flatten: a number has no axes to flatten

  test_flatten_a_number.py, in <lambda>
    |     told = message(ValueError, lambda: sg.layers.flatten(x))
    |                                        ^^^^^^^^^^^^^^^^^^^^
  hint: the first axis is the batch: expand_dims makes one
"""


def test_message():
    x = sg.placeholder(sg.float32, [], name="x")
    told = message(ValueError, lambda: sg.layers.flatten(x))
    assert told == EXPECTED
