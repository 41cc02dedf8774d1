"""A matrix without an inverse."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
matrix_inverse: Input is not invertible. Shape: [2, 2]

  test_singular_matrix.py, in test_message
    |     inverse = sg.matrix_inverse(x)
    |               ^^^^^^^^^^^^^^^^^^^^
  hint: look for NaN, and for rows that depend on each other: adding 1e-6 * eye(n) may help
"""


def test_message():
    x = sg.placeholder(sg.float32, [2, 2], name="x")
    inverse = sg.matrix_inverse(x)
    with sg.Session() as sess:
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(inverse + 1.0, {x: [[1, 2], [2, 4]]}))
    assert told == EXPECTED
