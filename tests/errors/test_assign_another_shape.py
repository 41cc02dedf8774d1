"""A value that does not have the variable's shape."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.errors.message import message

EXPECTED = """\
assign(ref: float32[2], value=[1.0, 2.0, 3.0]): the variable and its new value: [2] and [3] differ

  test_assign_another_shape.py, in <lambda>
    |     told = message(ShapeError, lambda: w.assign([1.0, 2.0, 3.0]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^
  ref was made here:
  test_assign_another_shape.py, in test_message
    |     w = sg.Variable([1.0, 2.0], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: sizes must agree, axis by axis
"""


def test_message():
    w = sg.Variable([1.0, 2.0], name="w")
    told = message(ShapeError, lambda: w.assign([1.0, 2.0, 3.0]))
    assert told == EXPECTED
