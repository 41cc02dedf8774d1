"""An error in a constant that is computed before the run: the run reports it."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
matrix_inverse: Input is not invertible. Shape: [2, 2]

  test_singular_constant.py, in test_message
    |     inverse = sg.matrix_inverse([[1.0, 2.0], [2.0, 4.0]])
    |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: look for NaN, and for rows that depend on each other: adding 1e-6 * eye(n) may help
"""


def test_message():
    inverse = sg.matrix_inverse([[1.0, 2.0], [2.0, 4.0]])
    with sg.Session() as sess:
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(inverse))
    assert told == EXPECTED
