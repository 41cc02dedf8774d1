"""Too few multiples."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
tile(input: float32[2, 3], multiples=[2]): 1 multiple for a tensor of rank 2

  test_tile_of_another_rank.py, in <lambda>
    |     told = message(ValueError, lambda: sg.tile(x, [2]))
    |                                        ^^^^^^^^^^^^^^^
  input was made here:
  test_tile_of_another_rank.py, in test_message
    |     x = sg.zeros([2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: give one multiple per axis: 1 leaves an axis as it is
"""


def test_message():
    x = sg.zeros([2, 3], name="x")
    told = message(ValueError, lambda: sg.tile(x, [2]))
    assert told == EXPECTED
