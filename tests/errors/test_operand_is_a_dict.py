"""Something that is no number."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
add(x: float32[], y={'bias': 1.0}): a value of type dict cannot be a part of a tensor

  test_operand_is_a_dict.py, in <lambda>
    |     told = message(TypeError, lambda: sg.add(x, {"bias": 1.0}))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^
  x was made here:
  test_operand_is_a_dict.py, in test_message
    |     x = sg.constant(1.0, name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: numbers, strings, and arrays of them can be
"""


def test_message():
    x = sg.constant(1.0, name="x")
    told = message(TypeError, lambda: sg.add(x, {"bias": 1.0}))
    assert told == EXPECTED
