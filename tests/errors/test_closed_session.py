"""A run after the session's end."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import ClosedSessionError
from tests.errors.message import message

EXPECTED = """\
the session is closed

  test_closed_session.py, in <lambda>
    |     told = message(ClosedSessionError, lambda: sess.run(x))
    |                                                ^^^^^^^^^^^
  hint: open a new Session
"""


def test_message():
    x = sg.constant(1.0)
    with sg.Session() as sess:
        sess.run(x)
    told = message(ClosedSessionError, lambda: sess.run(x))
    assert told == EXPECTED
