"""It is the lambda's line that is told."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
matrix_inverse: Input is not invertible. Shape: [2, 2], in iteration 1 of the loop

  test_singular_matrix_in_a_loop.py, in <lambda>
    |     y = sg.while_loop(lambda y: y[0, 0] < 3.0, lambda y: y + sg.matrix_inverse(y), [x])
    |                                                              ^^^^^^^^^^^^^^^^^^^^
  the loop was made here:
  test_singular_matrix_in_a_loop.py, in test_message
    |     y = sg.while_loop(lambda y: y[0, 0] < 3.0, lambda y: y + sg.matrix_inverse(y), [x])
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: look for NaN, and for rows that depend on each other: adding 1e-6 * eye(n) may help
"""


def test_message():
    x = sg.placeholder(sg.float32, [2, 2], name="x")
    y = sg.while_loop(lambda y: y[0, 0] < 3.0, lambda y: y + sg.matrix_inverse(y), [x])
    with sg.Session() as sess:
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(y, {x: [[1, 2], [2, 4]]}))
    assert told == EXPECTED
