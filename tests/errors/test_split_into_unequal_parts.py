"""Five rows in two parts."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
split(value: float32[5, 2], axis=0, num_split=2):
2 parts should evenly divide axis 0, which has size 5

  test_split_into_unequal_parts.py, in <lambda>
    |     told = message(ValueError, lambda: sg.split(x, 2))
    |                                        ^^^^^^^^^^^^^^
  value was made here:
  test_split_into_unequal_parts.py, in test_message
    |     x = sg.zeros([5, 2], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: give a list of sizes for parts of other sizes
"""


def test_message():
    x = sg.zeros([5, 2], name="x")
    told = message(ValueError, lambda: sg.split(x, 2))
    assert told == EXPECTED
