"""No permutation."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
transpose(a: float32[2, 3], perm=[0, 0]): perm [0, 0] is not a permutation of the axes: 1 is missing

  test_transpose_with_an_axis_twice.py, in <lambda>
    |     told = message(ValueError, lambda: sg.transpose(x, [0, 0]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^
  a was made here:
  test_transpose_with_an_axis_twice.py, in test_message
    |     x = sg.zeros([2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: perm has each of the axes 0 to 1 once
"""


def test_message():
    x = sg.zeros([2, 3], name="x")
    told = message(ValueError, lambda: sg.transpose(x, [0, 0]))
    assert told == EXPECTED
