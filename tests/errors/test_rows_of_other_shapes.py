"""Rows of a TensorArray differ in shape."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.errors.message import message

EXPECTED = """\
TensorArray.write: the rows have shape [2], this one has [1]

  test_rows_of_other_shapes.py, in <lambda>
    |     told = message(ShapeError, lambda: rows.write(1, [1.0]))
    |                                        ^^^^^^^^^^^^^^^^^^^^
  hint: rows of other shapes are for TensorArray(infer_shape=False), which cannot be stacked
"""


def test_message():
    rows = sg.TensorArray(sg.float32, 2).write(0, [1.0, 2.0])
    told = message(ShapeError, lambda: rows.write(1, [1.0]))
    assert told == EXPECTED
