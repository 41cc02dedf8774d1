"""The value of a function that returns nothing."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
add(x: float32[], y=None): y is None, a tensor is needed

  test_operand_is_none.py, in <lambda>
    |     told = message(ValueError, lambda: sg.add(x, None))
    |                                        ^^^^^^^^^^^^^^^
  x was made here:
  test_operand_is_none.py, in test_message
    |     x = sg.constant(1.0, name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: a function without `return`, and a gradient that does not exist, give None
"""


def test_message():
    x = sg.constant(1.0, name="x")
    told = message(ValueError, lambda: sg.add(x, None))
    assert told == EXPECTED
