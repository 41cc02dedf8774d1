"""A shape with another number of elements."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
reshape(tensor: float32[2, 3], shape=[4, 2]): [2, 3] has 6 elements, and [4, 2] has 8

  test_reshape_to_another_size.py, in <lambda>
    |     told = message(ValueError, lambda: sg.reshape(x, [4, 2]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^
  tensor was made here:
  test_reshape_to_another_size.py, in test_message
    |     x = sg.placeholder(sg.float32, [2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: the number of elements stays the same; -1 stands for the size that makes it so
"""


def test_message():
    x = sg.placeholder(sg.float32, [2, 3], name="x")
    told = message(ValueError, lambda: sg.reshape(x, [4, 2]))
    assert told == EXPECTED
