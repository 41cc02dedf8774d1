"""Weights that do not fit the losses."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
weights can not be broadcast to values: (4,) to (2, 3)

  test_losses_of_other_weights.py, in <lambda>
    |     told = message(ValueError, lambda: sg.losses.mean_squared_error(x, x, weights=w))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  weights was made here:
  test_losses_of_other_weights.py, in test_message
    |     w = sg.zeros([4], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^
  hint: use a number, or the same rank and sizes, or sizes of 1
"""


def test_message():
    x = sg.zeros([2, 3], name="x")
    w = sg.zeros([4], name="w")
    told = message(ValueError, lambda: sg.losses.mean_squared_error(x, x, weights=w))
    assert told == EXPECTED
