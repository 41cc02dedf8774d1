"""A profile of a session while another one is being taken."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FailedPreconditionError
from tests.errors.message import message

EXPECTED = """\
a profile of this session is being taken already

  test_profile_in_a_profile.py, in <lambda>
    |         told = message(FailedPreconditionError, lambda: sess.profile().__enter__())
    |                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: end it first
"""


def test_message():
    with sg.Session() as sess, sess.profile():
        told = message(FailedPreconditionError, lambda: sess.profile().__enter__())
    assert told == EXPECTED
