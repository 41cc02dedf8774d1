"""A fetch by a name that the graph does not have."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FetchError
from tests.errors.message import message

EXPECTED = """\
cannot fetch 'los:0': the graph has no operation 'los'

  test_fetch_unknown_name.py, in <lambda>
    |         told = message(FetchError, lambda: sess.run("los:0"))
    |                                            ^^^^^^^^^^^^^^^^^
  hint: did you mean 'loss'?
"""


def test_message():
    sg.constant(1.0, name="loss")
    with sg.Session() as sess:
        told = message(FetchError, lambda: sess.run("los:0"))
    assert told == EXPECTED
