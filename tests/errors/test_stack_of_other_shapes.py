"""Rows of other lengths."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
stack(values: [float32[2], float32[3]]): all shapes must be equal, and [2] and [3] differ

  test_stack_of_other_shapes.py, in <lambda>
    |     told = message(ValueError, lambda: sg.stack([a, b]))
    |                                        ^^^^^^^^^^^^^^^^
  values[0] was made here:
  test_stack_of_other_shapes.py, in test_message
    |     a = sg.zeros([2], name="a")
    |         ^^^^^^^^^^^^^^^^^^^^^^^
  values[1] was made here:
  test_stack_of_other_shapes.py, in test_message
    |     b = sg.zeros([3], name="b")
    |         ^^^^^^^^^^^^^^^^^^^^^^^
  hint: sizes must agree, axis by axis
"""


def test_message():
    a = sg.zeros([2], name="a")
    b = sg.zeros([3], name="b")
    told = message(ValueError, lambda: sg.stack([a, b]))
    assert told == EXPECTED
