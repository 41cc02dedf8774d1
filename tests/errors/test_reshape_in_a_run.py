"""A size that does not divide the number of elements that were fed."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
reshape(float32[5]): for [-1, 4] the 5 elements of [5] must be evenly divisible by 4

  test_reshape_in_a_run.py, in test_message
    |     rows = sg.reshape(x, [-1, 4])
    |            ^^^^^^^^^^^^^^^^^^^^^^
  hint: the product of the other sizes must divide the number of elements
"""


def test_message():
    x = sg.placeholder(sg.float32, [None], name="x")
    rows = sg.reshape(x, [-1, 4])
    with sg.Session() as sess:
        told = message(sg.errors.InvalidArgumentError, lambda: sess.run(rows, {x: [1, 2, 3, 4, 5]}))
    assert told == EXPECTED
