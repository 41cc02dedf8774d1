"""Numbers that were read as strings, and not converted."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
subtract(x: string[?], y=18.0): x is string, and must be floating, an integer or complex

  test_arithmetic_of_strings.py, in <lambda>
    |     told = message(TypeError, lambda: age - 18.0)
    |                                       ^^^^^^^^^^
  x was made here:
  test_arithmetic_of_strings.py, in test_message
    |     age = sg.placeholder(sg.string, [None], name="age")
    |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: strings.to_number(x) gives the numbers that strings tell
"""


def test_message():
    age = sg.placeholder(sg.string, [None], name="age")
    told = message(TypeError, lambda: age - 18.0)
    assert told == EXPECTED
