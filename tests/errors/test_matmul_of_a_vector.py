"""A vector where a matrix is needed."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
matmul(a: float32[3], b: float32[3, 4]): a has rank 1, a matrix has rank 2

  test_matmul_of_a_vector.py, in <lambda>
    |     told = message(ValueError, lambda: sg.matmul(v, m))
    |                                        ^^^^^^^^^^^^^^^
  a was made here:
  test_matmul_of_a_vector.py, in test_message
    |     v = sg.placeholder(sg.float32, [3], name="v")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  b was made here:
  test_matmul_of_a_vector.py, in test_message
    |     m = sg.placeholder(sg.float32, [3, 4], name="m")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: make a matrix of a vector: x[None, :] has one row, x[:, None] one column
"""


def test_message():
    v = sg.placeholder(sg.float32, [3], name="v")
    m = sg.placeholder(sg.float32, [3, 4], name="m")
    told = message(ValueError, lambda: sg.matmul(v, m))
    assert told == EXPECTED
