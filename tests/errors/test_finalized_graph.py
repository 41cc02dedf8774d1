"""A new operation in a finalized graph."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FinalizedError
from tests.errors.message import message

EXPECTED = """\
Graph is finalized and cannot be modified.

  test_finalized_graph.py, in <lambda>
    |     told = message(FinalizedError, lambda: sg.constant(1.0))
    |                                            ^^^^^^^^^^^^^^^^
  hint: build all operations before finalize() (a MonitoredSession finalizes its graph)
"""


def test_message():
    sg.get_default_graph().finalize()
    told = message(FinalizedError, lambda: sg.constant(1.0))
    assert told == EXPECTED
