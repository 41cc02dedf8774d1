"""An operation by a name that is slightly wrong."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the graph has no operation 'wieghts'

  test_unknown_operation_name.py, in <lambda>
    |     told = message(KeyError, lambda: sg.get_default_graph().get_operation_by_name("wieghts"))
    |                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: did you mean 'weights'?
"""


def test_message():
    sg.constant(1.0, name="weights")
    told = message(KeyError, lambda: sg.get_default_graph().get_operation_by_name("wieghts"))
    assert told == EXPECTED
