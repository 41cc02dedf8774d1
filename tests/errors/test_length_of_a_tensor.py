"""Python's len()."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
x:0 has no length while the graph is built

  test_length_of_a_tensor.py, in <lambda>
    |     told = message(TypeError, lambda: len(x))
    |                                       ^^^^^^
  hint: use x.shape[0], or shape(x)[0] in the graph
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 2], name="x")
    told = message(TypeError, lambda: len(x))
    assert told == EXPECTED
