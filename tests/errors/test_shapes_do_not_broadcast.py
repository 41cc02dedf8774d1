"""Addition of shapes that do not go together."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.errors.message import message

EXPECTED = """\
add(x: float32[32, 10], y: float32[32]):
shapes [32, 10] and [32] do not broadcast: axis -1 has sizes 10 and 32

  test_shapes_do_not_broadcast.py, in <lambda>
    |     told = message(ShapeError, lambda: a + b)
    |                                        ^^^^^
  x was made here:
  test_shapes_do_not_broadcast.py, in test_message
    |     a = sg.placeholder(sg.float32, [32, 10], name="a")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  y was made here:
  test_shapes_do_not_broadcast.py, in test_message
    |     b = sg.placeholder(sg.float32, [32], name="b")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: sizes must be equal, or one of them 1
"""


def test_message():
    a = sg.placeholder(sg.float32, [32, 10], name="a")
    b = sg.placeholder(sg.float32, [32], name="b")
    told = message(ShapeError, lambda: a + b)
    assert told == EXPECTED
