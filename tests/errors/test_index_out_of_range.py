"""An element that does not exist."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
strided_slice(input_: float32[4], begin=[7], end=[8], strides=[1], shrink_axis_mask=1):
index 7 is out of range for axis 0 of size 4

  test_index_out_of_range.py, in <lambda>
    |     told = message(ValueError, lambda: x[7])
    |                                        ^^^^
  input_ was made here:
  test_index_out_of_range.py, in test_message
    |     x = sg.zeros([4], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^
  hint: an index may be -4 to 3
"""


def test_message():
    x = sg.zeros([4], name="x")
    told = message(ValueError, lambda: x[7])
    assert told == EXPECTED
