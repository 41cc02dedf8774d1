"""A fed value that does not have the variable's shape."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError
from tests.errors.message import message

EXPECTED = """\
step assigns float32[3] to the variable w of type float32[2]

  test_assign_another_shape_in_a_run.py, in test_message
    |     step = w.assign(x, name="step")
    |            ^^^^^^^^^^^^^^^^^^^^^^^^
  the variable was made here:
  test_assign_another_shape_in_a_run.py, in test_message
    |     w = sg.Variable([1.0, 2.0], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: Variable(..., validate_shape=False) takes values of any shape
"""


def test_message():
    x = sg.placeholder(sg.float32, [None], name="x")
    w = sg.Variable([1.0, 2.0], name="w")
    step = w.assign(x, name="step")
    with sg.Session() as sess:
        told = message(InvalidArgumentError, lambda: sess.run(step, {x: [1, 2, 3]}))
    assert told == EXPECTED
