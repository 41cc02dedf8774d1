"""It is the lambda's line that is told."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
matmul(a: float32[2, 3], b: float32[2, 3]):
the rows of a have length 3 and the columns of b have length 2

  test_shapes_in_the_body_of_a_loop.py, in <lambda>
    |     told = message(ValueError, lambda: sg.while_loop(lambda y: y[0, 0] < 3, lambda y: sg.matmul(y, y), [x]))
    |                                                                                       ^^^^^^^^^^^^^^^
  a and b were made here:
  test_shapes_in_the_body_of_a_loop.py, in <lambda>
    |     told = message(ValueError, lambda: sg.while_loop(lambda y: y[0, 0] < 3, lambda y: sg.matmul(y, y), [x]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: b is [2, 3]: transpose_b would fit
"""


def test_message():
    x = sg.zeros([2, 3], name="x")
    told = message(ValueError, lambda: sg.while_loop(lambda y: y[0, 0] < 3, lambda y: sg.matmul(y, y), [x]))
    assert told == EXPECTED
