"""An axis that is no integer."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
reduce_sum(input_tensor: float32[?, 3], axis=0.5): axis 0.5 is no integer

  test_axis_is_a_fraction.py, in <lambda>
    |     told = message(TypeError, lambda: sg.reduce_sum(x, axis=0.5))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^
  input_tensor was made here:
  test_axis_is_a_fraction.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: axes are counted: 0 is the first, -1 the last
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    told = message(TypeError, lambda: sg.reduce_sum(x, axis=0.5))
    assert told == EXPECTED
