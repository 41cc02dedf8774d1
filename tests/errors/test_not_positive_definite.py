"""A matrix without a Cholesky decomposition."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
cholesky: Cholesky decomposition was not successful. The input might not be valid. Shape: [2, 2]

  test_not_positive_definite.py, in test_message
    |     root = sg.cholesky(x)
    |            ^^^^^^^^^^^^^^
  hint: look for NaN, and for rows that depend on each other: adding 1e-6 * eye(n) may help
"""


def test_message():
    x = sg.placeholder(sg.float32, [2, 2], name="x")
    root = sg.cholesky(x)
    with sg.Session() as sess:
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(root, {x: [[-1, 2], [2, 4]]}))
    assert told == EXPECTED
