"""The condition of a loop is not one truth value."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.errors.message import message

EXPECTED = """\
cond must return one truth value, not bool[2]

  test_loop_condition_is_a_vector.py, in <lambda>
    |     told = message(ShapeError, lambda: sg.while_loop(lambda y: y < 3.0, lambda y: y + 1.0, [x]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  it was made here:
  test_loop_condition_is_a_vector.py, in <lambda>
    |     told = message(ShapeError, lambda: sg.while_loop(lambda y: y < 3.0, lambda y: y + 1.0, [x]))
    |                                                                ^^^^^^^
  hint: compare a number, i < 3; reduce_all and reduce_any make one of many
"""


def test_message():
    x = sg.zeros([2], name="x")
    told = message(ShapeError, lambda: sg.while_loop(lambda y: y < 3.0, lambda y: y + 1.0, [x]))
    assert told == EXPECTED
