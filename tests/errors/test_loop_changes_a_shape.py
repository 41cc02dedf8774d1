"""A loop variable that changes its shape."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.errors.message import message

EXPECTED = """\
the shape of a loop variable changes: it enters a round as float32[2] and leaves it as float32[4]

  test_loop_changes_a_shape.py, in grown
    |         return sg.while_loop(lambda y: y[0] < 3.0, lambda y: sg.concat([y, y], 0), [x])
    |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  it was made here:
  test_loop_changes_a_shape.py, in <lambda>
    |         return sg.while_loop(lambda y: y[0] < 3.0, lambda y: sg.concat([y, y], 0), [x])
    |                                                              ^^^^^^^^^^^^^^^^^^^^
  hint: where that is right, say what stays the same: shape_invariants
"""


def test_message():
    x = sg.zeros([2], name="x")

    def grown():
        return sg.while_loop(lambda y: y[0] < 3.0, lambda y: sg.concat([y, y], 0), [x])

    assert message(ShapeError, grown) == EXPECTED
