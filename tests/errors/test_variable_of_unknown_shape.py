"""The first value has no shape yet."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the initial value x:0 has shape (?,), which is not fully known

  test_variable_of_unknown_shape.py, in <lambda>
    |     told = message(ValueError, lambda: sg.Variable(x))
    |                                        ^^^^^^^^^^^^^^
  it was made here:
  test_variable_of_unknown_shape.py, in test_message
    |     x = sg.placeholder(sg.float32, [None], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: give it a static shape, or pass validate_shape=False
"""


def test_message():
    x = sg.placeholder(sg.float32, [None], name="x")
    told = message(ValueError, lambda: sg.Variable(x))
    assert told == EXPECTED
