"""Labels that are no integers."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
one_hot(indices: float32[?], on_value: float32[], off_value: float32[], depth=3):
indices is float32, and must be int32, int64 or uint8

  test_one_hot_of_fractions.py, in <lambda>
    |     told = message(TypeError, lambda: sg.one_hot(labels, 3))
    |                                       ^^^^^^^^^^^^^^^^^^^^^
  indices was made here:
  test_one_hot_of_fractions.py, in test_message
    |     labels = sg.placeholder(sg.float32, [None], name="labels")
    |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: convert it: cast(indices, sg.int32)
"""


def test_message():
    labels = sg.placeholder(sg.float32, [None], name="labels")
    told = message(TypeError, lambda: sg.one_hot(labels, 3))
    assert told == EXPECTED
