"""A tensor of a graph that the session does not run."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FetchError
from tests.errors.message import message

EXPECTED = """\
cannot fetch <sg.Tensor 'other:0' shape=() dtype=float32>:
Tensor("other:0", shape=(), dtype=float32) is not an element of this graph

  test_fetch_of_another_graph.py, in <lambda>
    |         told = message(FetchError, lambda: sess.run(other))
    |                                            ^^^^^^^^^^^^^^^
  hint: make it, and the session that runs it, in one graph: see Graph.as_default
"""


def test_message():
    sg.constant(1.0)
    with sg.Graph().as_default():
        other = sg.constant(1.0, name="other")
    with sg.Session() as sess:
        told = message(FetchError, lambda: sess.run(other))
    assert told == EXPECTED
