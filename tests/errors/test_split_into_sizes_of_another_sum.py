"""Five rows in parts of two and two."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
split_v(value: float32[5, 2], size_splits=[2, 2], axis=0, num_split=2):
sizes [2, 2] do not add up to 5

  test_split_into_sizes_of_another_sum.py, in <lambda>
    |     told = message(ValueError, lambda: sg.split(x, [2, 2]))
    |                                        ^^^^^^^^^^^^^^^^^^^
  value was made here:
  test_split_into_sizes_of_another_sum.py, in test_message
    |     x = sg.zeros([5, 2], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: one size of -1 stands for what is left
"""


def test_message():
    x = sg.zeros([5, 2], name="x")
    told = message(ValueError, lambda: sg.split(x, [2, 2]))
    assert told == EXPECTED
