"""`if tensor:` while the graph is built."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
x:0 has no truth value while the graph is built

  test_truth_of_a_tensor.py, in <lambda>
    |     told = message(TypeError, lambda: bool(x))
    |                                       ^^^^^^^
  hint: cond, where and logical_and decide in the graph; `is not None` asks whether it exists
"""


def test_message():
    x = sg.placeholder(sg.bool, [], name="x")
    told = message(TypeError, lambda: bool(x))
    assert told == EXPECTED
