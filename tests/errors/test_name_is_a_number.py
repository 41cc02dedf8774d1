"""One argument too many: a number comes to the place of the name."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the name of an operation is a string, not 4

  test_name_is_a_number.py, in <lambda>
    |     told = message(TypeError, lambda: sg.reshape(x, 3, 4))
    |                                       ^^^^^^^^^^^^^^^^^^^
  hint: there may be one argument too many: the name comes last
"""


def test_message():
    x = sg.placeholder(sg.float32, [12], name="x")
    told = message(TypeError, lambda: sg.reshape(x, 3, 4))
    assert told == EXPECTED
