"""Two indices for a vector."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
strided_slice(input_: float32[4], begin=[0, 0], end=[1, 1], strides=[1, 1], shrink_axis_mask=3):
2 indices for a tensor of rank 1

  test_too_many_indices.py, in <lambda>
    |     told = message(ValueError, lambda: x[0, 0])
    |                                        ^^^^^^^
  input_ was made here:
  test_too_many_indices.py, in test_message
    |     x = sg.zeros([4], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^
  hint: give one index per axis at most; None adds an axis
"""


def test_message():
    x = sg.zeros([4], name="x")
    told = message(ValueError, lambda: x[0, 0])
    assert told == EXPECTED
