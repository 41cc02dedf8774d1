"""A function of real numbers, of an integer."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
sqrt(x: int32[]): x is int32, and must be floating or complex

  test_square_root_of_an_integer.py, in <lambda>
    |     told = message(TypeError, lambda: sg.sqrt(n))
    |                                       ^^^^^^^^^^
  x was made here:
  test_square_root_of_an_integer.py, in test_message
    |     n = sg.constant(4, name="n")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^
  hint: convert it: cast(x, sg.float32)
"""


def test_message():
    n = sg.constant(4, name="n")
    told = message(TypeError, lambda: sg.sqrt(n))
    assert told == EXPECTED
