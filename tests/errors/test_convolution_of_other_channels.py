"""A filter for another number of channels."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
conv2d(input: float32[?, 8, 8, 3], filter: float32[3, 3, 4, 8], strides=[1, 1, 1, 1],
padding='SAME'):
the input has 3 channels and the filter takes 4

  test_convolution_of_other_channels.py, in <lambda>
    |     told = message(ValueError, lambda: sg.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  input was made here:
  test_convolution_of_other_channels.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 8, 8, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  filter was made here:
  test_convolution_of_other_channels.py, in test_message
    |     w = sg.zeros([3, 3, 4, 8], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: the filter is [3, 3, 4, 8]: height, width, input channels, output channels
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 8, 8, 3], name="x")
    w = sg.zeros([3, 3, 4, 8], name="w")
    told = message(ValueError, lambda: sg.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))
    assert told == EXPECTED
