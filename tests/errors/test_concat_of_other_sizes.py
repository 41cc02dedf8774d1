"""Rows of other lengths, one below the other."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
concat(values: [float32[2, 2], float32[3, 3]], axis=0):
axes other than 0 must agree, and [2] and [3] differ

  test_concat_of_other_sizes.py, in <lambda>
    |     told = message(ValueError, lambda: sg.concat([a, b], 0))
    |                                        ^^^^^^^^^^^^^^^^^^^^
  values[0] was made here:
  test_concat_of_other_sizes.py, in test_message
    |     a = sg.zeros([2, 2], name="a")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  values[1] was made here:
  test_concat_of_other_sizes.py, in test_message
    |     b = sg.zeros([3, 3], name="b")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: sizes must agree, axis by axis
"""


def test_message():
    a = sg.zeros([2, 2], name="a")
    b = sg.zeros([3, 3], name="b")
    told = message(ValueError, lambda: sg.concat([a, b], 0))
    assert told == EXPECTED
