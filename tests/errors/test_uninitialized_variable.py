"""A variable is read before it has a value."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import UninitializedError
from tests.errors.message import message

EXPECTED = """\
Attempting to use uninitialized value w: variable w has no value yet

  test_uninitialized_variable.py, in <lambda>
    |         told = message(UninitializedError, lambda: sess.run(w * 2.0))
    |                                                    ^^^^^^^^^^^^^^^^^
  w was made here:
  test_uninitialized_variable.py, in test_message
    |     w = sg.Variable([1.0], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: run global_variables_initializer() first, or restore a checkpoint
"""


def test_message():
    w = sg.Variable([1.0], name="w")
    with sg.Session() as sess:
        told = message(UninitializedError, lambda: sess.run(w * 2.0))
    assert told == EXPECTED
