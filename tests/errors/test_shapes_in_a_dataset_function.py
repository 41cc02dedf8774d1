"""It is the lambda's line that is told."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
matmul(a: float32[2], b: float32[2]): a has rank 1, a matrix has rank 2

  test_shapes_in_a_dataset_function.py, in <lambda>
    |     told = message(ValueError, lambda: data.map(lambda x: sg.matmul(x, x)))
    |                                                           ^^^^^^^^^^^^^^^
  a and b were made here:
  test_shapes_in_a_dataset_function.py, in <lambda>
    |     told = message(ValueError, lambda: data.map(lambda x: sg.matmul(x, x)))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: make a matrix of a vector: x[None, :] has one row, x[:, None] one column
"""


def test_message():
    data = sg.data.Dataset.from_tensor_slices([[1.0, 2.0]])
    told = message(ValueError, lambda: data.map(lambda x: sg.matmul(x, x)))
    assert told == EXPECTED
