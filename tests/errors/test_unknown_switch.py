"""A switch that there is not."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
there is no switch 'thread'

  test_unknown_switch.py, in act
    |         with sg.options(thread=2):
    |              ^^^^^^^^^^^^^^^^^^^^
  hint: did you mean threads? All of them are in docs/switches.md
"""


def test_message():
    def act():
        with sg.options(thread=2):
            pass

    assert message(TypeError, act) == EXPECTED
