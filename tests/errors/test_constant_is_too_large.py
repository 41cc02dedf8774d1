"""A number that the dtype does not hold."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
constant: 300 does not fit into uint8

  test_constant_is_too_large.py, in <lambda>
    |     told = message(TypeError, lambda: sg.constant(300, sg.uint8))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: it holds 0 to 255
"""


def test_message():
    told = message(TypeError, lambda: sg.constant(300, sg.uint8))
    assert told == EXPECTED
