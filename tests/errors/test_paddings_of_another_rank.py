"""One pair for two axes."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
pad(tensor: float32[2, 3], paddings=[[1, 1]]):
paddings must be one pair for each of the 2 axes, not ((1, 1),)

  test_paddings_of_another_rank.py, in <lambda>
    |     told = message(ValueError, lambda: sg.pad(x, [[1, 1]]))
    |                                        ^^^^^^^^^^^^^^^^^^^
  tensor was made here:
  test_paddings_of_another_rank.py, in test_message
    |     x = sg.zeros([2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: a pair tells how much to add before and after; [0, 0] leaves an axis as it is
"""


def test_message():
    x = sg.zeros([2, 3], name="x")
    told = message(ValueError, lambda: sg.pad(x, [[1, 1]]))
    assert told == EXPECTED
