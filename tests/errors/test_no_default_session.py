"""`eval` outside of any session."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
there is no default session: use `with sg.Session():`, or pass session=
"""


def test_message():
    x = sg.constant(1.0, name="x")
    told = message(ValueError, x.eval)
    assert told == EXPECTED
