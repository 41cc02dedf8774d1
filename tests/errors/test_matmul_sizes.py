"""A matrix product of sizes that differ."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import ShapeError
from tests.errors.message import message

EXPECTED = """\
matmul(a: float32[32, 784], b: float32[800, 10]):
the rows of a have length 784 and the columns of b have length 800

  test_matmul_sizes.py, in <lambda>
    |     told = message(ShapeError, lambda: sg.matmul(x, w))
    |                                        ^^^^^^^^^^^^^^^
  a was made here:
  test_matmul_sizes.py, in test_message
    |     x = sg.placeholder(sg.float32, [32, 784], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  b was made here:
  test_matmul_sizes.py, in test_message
    |     w = sg.placeholder(sg.float32, [800, 10], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: a [n, k] matrix is multiplied by a [k, m] matrix
"""


def test_message():
    x = sg.placeholder(sg.float32, [32, 784], name="x")
    w = sg.placeholder(sg.float32, [800, 10], name="w")
    told = message(ShapeError, lambda: sg.matmul(x, w))
    assert told == EXPECTED
