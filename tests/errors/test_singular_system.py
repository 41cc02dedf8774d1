"""Equations without a solution."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
matrix_solve: Input matrix is not invertible. Shape: [2, 2]

  test_singular_system.py, in test_message
    |     y = sg.matrix_solve(x, [[1.0], [2.0]])
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: look for NaN, and for rows that depend on each other: adding 1e-6 * eye(n) may help
"""


def test_message():
    x = sg.placeholder(sg.float32, [2, 2], name="x")
    y = sg.matrix_solve(x, [[1.0], [2.0]])
    with sg.Session() as sess:
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(y, {x: [[1, 2], [2, 4]]}))
    assert told == EXPECTED
