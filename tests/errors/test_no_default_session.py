"""`eval` outside of any session."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
there is no default session

  test_no_default_session.py, in <lambda>
    |     told = message(ValueError, lambda: x.eval())
    |                                        ^^^^^^^^
  hint: use `with sg.Session():`, or pass session=
"""


def test_message():
    x = sg.constant(1.0, name="x")
    told = message(ValueError, lambda: x.eval())
    assert told == EXPECTED
