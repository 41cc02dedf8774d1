"""Python's `for` over rows that only a run knows."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
x:0 has shape (?, 2): only a tensor of known length can be iterated

  test_iteration_over_unknown_rows.py, in <lambda>
    |     told = message(TypeError, lambda: list(x))
    |                                       ^^^^^^^
  hint: map_fn and while_loop go over rows in the graph; a list takes [x]
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    told = message(TypeError, lambda: list(x))
    assert told == EXPECTED
