"""A plan with a shape that a placeholder cannot have."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
[2, 5] is no shape of a value for x, which is float32[?, 3]

  test_plan_with_another_shape.py, in <lambda>
    |         told = message(FeedError, lambda: sess.plan(x * 2.0, shapes={x: [2, 5]}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  x was made here:
  test_plan_with_another_shape.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: an unknown size may be any, the others are as they are
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.plan(x * 2.0, shapes={x: [2, 5]}))
    assert told == EXPECTED
