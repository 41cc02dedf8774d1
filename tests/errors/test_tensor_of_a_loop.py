"""A tensor of a loop's body is used outside."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import RegionError
from tests.errors.message import message

EXPECTED = """\
multiply(x: int32[], y=2): count/add is part of a loop or branch that this operation is not in

  test_tensor_of_a_loop.py, in <lambda>
    |     told = message(RegionError, lambda: kept[0] * 2)
    |                                         ^^^^^^^^^^^
  x was made here:
  test_tensor_of_a_loop.py, in <lambda>
    |     sg.while_loop(lambda i: i < 3, lambda i: kept.append(i + 1) or kept[0], [0], name="count")
    |                                                          ^^^^^
  hint: return its tensor from the function of the loop or branch, and use what that gives
"""


def test_message():
    kept = []
    sg.while_loop(lambda i: i < 3, lambda i: kept.append(i + 1) or kept[0], [0], name="count")
    told = message(RegionError, lambda: kept[0] * 2)
    assert told == EXPECTED
