"""Nothing to share."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
there is no variable layer/w to reuse that get_variable made

  test_get_variable_that_is_not_there.py, in act
    |             sg.get_variable("w", [2])
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: reuse=sg.AUTO_REUSE makes it where it does not exist
"""


def test_message():
    def act():
        with sg.variable_scope("layer", reuse=True):
            sg.get_variable("w", [2])

    told = message(ValueError, act)
    assert told == EXPECTED
