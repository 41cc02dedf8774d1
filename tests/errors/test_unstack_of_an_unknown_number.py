"""As many tensors as rows, which only a run tells."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
unstack: Cannot infer num from shape (?, 2): axis 0 has an unknown size

  test_unstack_of_an_unknown_number.py, in <lambda>
    |     told = message(ValueError, lambda: sg.unstack(x))
    |                                        ^^^^^^^^^^^^^
  hint: give num, or the tensor a shape
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    told = message(ValueError, lambda: sg.unstack(x))
    assert told == EXPECTED
