"""A window that does not fit."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
conv2d(input: float32[?, 2, 2, 3], filter: float32[3, 3, 3, 8], strides=[1, 1, 1, 1],
padding='VALID'):
a window of 3 does not fit into 2 elements

  test_convolution_window_is_larger.py, in <lambda>
    |     told = message(ValueError, lambda: sg.nn.conv2d(x, w, [1, 1, 1, 1], "VALID"))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  input was made here:
  test_convolution_window_is_larger.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 2, 2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  filter was made here:
  test_convolution_window_is_larger.py, in test_message
    |     w = sg.zeros([3, 3, 3, 8], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: padding='SAME' pads the input
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 2, 2, 3], name="x")
    w = sg.zeros([3, 3, 3, 8], name="w")
    told = message(ValueError, lambda: sg.nn.conv2d(x, w, [1, 1, 1, 1], "VALID"))
    assert told == EXPECTED
