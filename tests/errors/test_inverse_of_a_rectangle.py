"""Only squares have an inverse."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
matrix_inverse(input: float32[2, 3]): input has shape [2, 3], its matrices must be square

  test_inverse_of_a_rectangle.py, in <lambda>
    |     told = message(ValueError, lambda: sg.matrix_inverse(x))
    |                                        ^^^^^^^^^^^^^^^^^^^^
  input was made here:
  test_inverse_of_a_rectangle.py, in test_message
    |     x = sg.placeholder(sg.float32, [2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: matmul(x, x, transpose_a=True) is square; lstsq solves systems that are not
"""


def test_message():
    x = sg.placeholder(sg.float32, [2, 3], name="x")
    told = message(ValueError, lambda: sg.matrix_inverse(x))
    assert told == EXPECTED
