"""A loop variable that changes its dtype."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import UnlikeDtypeError
from tests.errors.message import message

EXPECTED = """\
a loop carries int32[] and its body returns float64[]

  test_loop_changes_a_dtype.py, in <lambda>
    |     told = message(UnlikeDtypeError, lambda: sg.while_loop(lambda i: i < 3, lambda i: i / 2, [0]))
    |                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  it was made here:
  test_loop_changes_a_dtype.py, in <lambda>
    |     told = message(UnlikeDtypeError, lambda: sg.while_loop(lambda i: i < 3, lambda i: i / 2, [0]))
    |                                                                                       ^^^^^
  hint: convert it in the body: cast(..., sg.int32)
"""


def test_message():
    told = message(UnlikeDtypeError, lambda: sg.while_loop(lambda i: i < 3, lambda i: i / 2, [0]))
    assert told == EXPECTED
