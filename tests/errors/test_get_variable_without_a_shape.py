"""A variable without the shape that its initializer needs."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
variable w has shape <unknown>, not fully known, and its initializer needs a shape

  test_get_variable_without_a_shape.py, in <lambda>
    |     told = message(ValueError, lambda: sg.get_variable("w"))
    |                                        ^^^^^^^^^^^^^^^^^^^^
  hint: give a shape, or an initializer that is a value or a function without arguments
"""


def test_message():
    told = message(ValueError, lambda: sg.get_variable("w"))
    assert told == EXPECTED
