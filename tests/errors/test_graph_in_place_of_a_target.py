"""The first argument of Session is not the graph."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
target is <sg.Graph of 0 operations>, and must be a string

  test_graph_in_place_of_a_target.py, in <lambda>
    |     told = message(TypeError, lambda: sg.Session(graph))
    |                                       ^^^^^^^^^^^^^^^^^
  hint: name the arguments: Session(graph=..., config=...)
"""


def test_message():
    graph = sg.Graph()
    told = message(TypeError, lambda: sg.Session(graph))
    assert told == EXPECTED
