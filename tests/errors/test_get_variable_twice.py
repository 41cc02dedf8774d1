"""A name that is taken."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
there already is a variable layer/w

  test_get_variable_twice.py, in act
    |             sg.get_variable("w", [2])
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^
  it was made here:
  test_get_variable_twice.py, in test_message
    |         sg.get_variable("w", [2])
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: to share it, open its variable_scope with reuse=True or reuse=sg.AUTO_REUSE
"""


def test_message():
    with sg.variable_scope("layer"):
        sg.get_variable("w", [2])

    def act():
        with sg.variable_scope("layer"):
            sg.get_variable("w", [2])

    told = message(ValueError, act)
    assert told == EXPECTED
