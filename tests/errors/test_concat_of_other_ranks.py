"""A vector beside a matrix."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
concat(values: [float32[2], float32[2, 3]], axis=0): the ranks differ: [2] and [2, 3]

  test_concat_of_other_ranks.py, in <lambda>
    |     told = message(ValueError, lambda: sg.concat([a, b], 0))
    |                                        ^^^^^^^^^^^^^^^^^^^^
  values[0] was made here:
  test_concat_of_other_ranks.py, in test_message
    |     a = sg.zeros([2], name="a")
    |         ^^^^^^^^^^^^^^^^^^^^^^^
  values[1] was made here:
  test_concat_of_other_ranks.py, in test_message
    |     b = sg.zeros([2, 3], name="b")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: expand_dims adds an axis of size 1
"""


def test_message():
    a = sg.zeros([2], name="a")
    b = sg.zeros([2, 3], name="b")
    told = message(ValueError, lambda: sg.concat([a, b], 0))
    assert told == EXPECTED
