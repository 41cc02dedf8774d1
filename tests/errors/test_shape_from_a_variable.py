"""A shape that only the run could know."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError
from tests.errors.message import message

EXPECTED = """\
dims of filled (Fill) is computed from values that are only known while running

  test_shape_from_a_variable.py, in test_message
    |     filled = sg.fill(sg.stack([n, 2]), 1.0, name="filled")
    |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  dims was made here:
  test_shape_from_a_variable.py, in test_message
    |     filled = sg.fill(sg.stack([n, 2]), 1.0, name="filled")
    |                      ^^^^^^^^^^^^^^^^
  hint: shapes and axes may depend on constants, static shapes and feeds, not on variables
"""


def test_message():
    n = sg.Variable(3, name="n")
    filled = sg.fill(sg.stack([n, 2]), 1.0, name="filled")
    with sg.Session() as sess:
        told = message(InvalidArgumentError, lambda: sess.run(filled))
    assert told == EXPECTED
