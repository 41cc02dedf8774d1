"""Integers beside fractions."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
concat(values: [float32[2], int32[2]], axis=0): values[1] is int32, and must be float32

  test_concat_of_other_dtypes.py, in <lambda>
    |     told = message(TypeError, lambda: sg.concat([a, b], 0))
    |                                       ^^^^^^^^^^^^^^^^^^^^
  values[0] was made here:
  test_concat_of_other_dtypes.py, in test_message
    |     a = sg.zeros([2], name="a")
    |         ^^^^^^^^^^^^^^^^^^^^^^^
  values[1] was made here:
  test_concat_of_other_dtypes.py, in test_message
    |     b = sg.zeros([2], sg.int32, name="b")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: convert one of them: cast(values[1], sg.float32)
"""


def test_message():
    a = sg.zeros([2], name="a")
    b = sg.zeros([2], sg.int32, name="b")
    told = message(TypeError, lambda: sg.concat([a, b], 0))
    assert told == EXPECTED
