"""One picture, not a batch of them."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
conv2d(input: float32[8, 8, 3], filter: float32[3, 3, 3, 8], strides=[1, 1, 1, 1], padding='SAME'):
input has rank 3, 4 is needed

  test_convolution_without_a_batch.py, in <lambda>
    |     told = message(ValueError, lambda: sg.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  input was made here:
  test_convolution_without_a_batch.py, in test_message
    |     x = sg.placeholder(sg.float32, [8, 8, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  filter was made here:
  test_convolution_without_a_batch.py, in test_message
    |     w = sg.zeros([3, 3, 3, 8], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: its axes are batch, space and channels: expand_dims adds one
"""


def test_message():
    x = sg.placeholder(sg.float32, [8, 8, 3], name="x")
    w = sg.zeros([3, 3, 3, 8], name="w")
    told = message(ValueError, lambda: sg.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))
    assert told == EXPECTED
