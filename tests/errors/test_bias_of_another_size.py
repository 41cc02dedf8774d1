"""One number per channel is needed."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
bias_add(value: float32[?, 3], bias: float32[4]): bias has 4 elements and axis 1 of value has size 3

  test_bias_of_another_size.py, in <lambda>
    |     told = message(ValueError, lambda: sg.nn.bias_add(x, b))
    |                                        ^^^^^^^^^^^^^^^^^^^^
  value was made here:
  test_bias_of_another_size.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  bias was made here:
  test_bias_of_another_size.py, in test_message
    |     b = sg.zeros([4], name="b")
    |         ^^^^^^^^^^^^^^^^^^^^^^^
  hint: bias has one element per channel
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    b = sg.zeros([4], name="b")
    told = message(ValueError, lambda: sg.nn.bias_add(x, b))
    assert told == EXPECTED
