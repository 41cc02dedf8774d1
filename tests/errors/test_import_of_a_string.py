"""The path of a graph, not the graph."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
graph_def must be a GraphDef proto.

  test_import_of_a_string.py, in <lambda>
    |     told = message(TypeError, lambda: sg.import_graph_def("graph.pb"))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: GraphDef.FromString(contents) reads the bytes of a file
"""


def test_message():
    told = message(TypeError, lambda: sg.import_graph_def("graph.pb"))
    assert told == EXPECTED
