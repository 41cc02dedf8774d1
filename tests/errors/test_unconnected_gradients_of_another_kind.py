"""A choice that does not exist."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
unconnected_gradients is 'one'

  enum.py, in __new__
    |             result = cls._missing_(value)
    |                      ^^^^^^^^^^^^^^^^^^^^
  hint: it is one of 'none', 'zero'
"""


def test_message():
    x = sg.constant(1.0, name="x")
    told = message(ValueError, lambda: sg.gradients(x * 2, [x], unconnected_gradients="one"))
    assert told == EXPECTED
