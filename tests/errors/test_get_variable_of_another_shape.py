"""Shared, and of another shape."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
variable w has shape (2,), not (3,)

  test_get_variable_of_another_shape.py, in act
    |             sg.get_variable("w", [3])
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^
  it was made here:
  test_get_variable_of_another_shape.py, in test_message
    |     sg.get_variable("w", [2])
    |     ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: another variable needs another name, or a variable_scope of its own
"""


def test_message():
    sg.get_variable("w", [2])

    def act():
        with sg.variable_scope("", reuse=True):
            sg.get_variable("w", [3])

    told = message(ValueError, act)
    assert told == EXPECTED
