"""An assertion about a rank that is known."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.errors.message import message

EXPECTED = """\
a batch: x:0 must have rank 1, and has shape (?, 3)

  test_rank_is_known_to_be_wrong.py, in <lambda>
    |     told = message(ShapeError, lambda: sg.assert_rank(x, 1, message="a batch"))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  x:0 was made here:
  test_rank_is_known_to_be_wrong.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: expand_dims, squeeze and reshape change the number of axes
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    told = message(ShapeError, lambda: sg.assert_rank(x, 1, message="a batch"))
    assert told == EXPECTED
