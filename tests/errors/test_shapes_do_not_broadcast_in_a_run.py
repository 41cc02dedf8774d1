"""Shapes that only the run knows do not go together."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.errors.message import message

EXPECTED = """\
add(float32[2], float32[3]): shapes [2] and [3] do not broadcast: axis -1 has sizes 2 and 3

  test_shapes_do_not_broadcast_in_a_run.py, in test_message
    |     total = a + b
    |             ^^^^^
  hint: sizes must be equal, or one of them 1
"""


def test_message():
    a = sg.placeholder(sg.float32, [None], name="a")
    b = sg.placeholder(sg.float32, [None], name="b")
    total = a + b
    with sg.Session() as sess:
        told = message(ShapeError, lambda: sess.run(total, {a: [1, 2], b: [1, 2, 3]}))
    assert told == EXPECTED
