"""A matrix has no axis 2."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
reduce_sum(input_tensor: float32[?, 3], axis=2): axis 2 is out of range for a tensor of rank 2

  test_axis_out_of_range.py, in <lambda>
    |     told = message(ValueError, lambda: sg.reduce_sum(x, axis=2))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^
  input_tensor was made here:
  test_axis_out_of_range.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: axis may be -2 to 1
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    told = message(ValueError, lambda: sg.reduce_sum(x, axis=2))
    assert told == EXPECTED
