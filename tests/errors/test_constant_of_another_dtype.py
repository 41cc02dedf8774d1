"""A fraction as an integer."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
constant: 1.5 is not int32

  test_constant_of_another_dtype.py, in <lambda>
    |     told = message(TypeError, lambda: sg.constant(1.5, sg.int32))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write a value of type int32, or cast the tensor
"""


def test_message():
    told = message(TypeError, lambda: sg.constant(1.5, sg.int32))
    assert told == EXPECTED
