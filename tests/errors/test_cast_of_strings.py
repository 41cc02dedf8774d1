"""A cast that parses nothing."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
cast(x: string[?], dtype=sg.float32): x is string, and must be floating, an integer, complex or bool

  test_cast_of_strings.py, in <lambda>
    |     told = message(TypeError, lambda: sg.cast(age, sg.float32))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^
  x was made here:
  test_cast_of_strings.py, in test_message
    |     age = sg.placeholder(sg.string, [None], name="age")
    |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: strings.to_number(x) gives the numbers that strings tell
"""


def test_message():
    age = sg.placeholder(sg.string, [None], name="age")
    told = message(TypeError, lambda: sg.cast(age, sg.float32))
    assert told == EXPECTED
