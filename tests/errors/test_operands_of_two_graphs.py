"""Tensors that cannot meet."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
add(x: float32[], y: float32[]): b:0 belongs to another graph

  test_operands_of_two_graphs.py, in <lambda>
    |     told = message(ValueError, lambda: a + b)
    |                                        ^^^^^
  x was made here:
  test_operands_of_two_graphs.py, in test_message
    |         a = sg.constant(1.0, name="a")
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^^
  y was made here:
  test_operands_of_two_graphs.py, in test_message
    |     b = sg.constant(2.0, name="b")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: make all of them inside one `with graph.as_default():`, and after reset_default_graph()
"""


def test_message():
    with sg.Graph().as_default():
        a = sg.constant(1.0, name="a")
    b = sg.constant(2.0, name="b")
    told = message(ValueError, lambda: a + b)
    assert told == EXPECTED
