"""Integers for a variable of fractions."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
assign_add(ref: float32[2], value: int32[2]): value is int32, and must be float32

  test_assign_another_dtype.py, in <lambda>
    |     told = message(TypeError, lambda: sg.assign_add(w, n))
    |                                       ^^^^^^^^^^^^^^^^^^^
  ref was made here:
  test_assign_another_dtype.py, in test_message
    |     w = sg.Variable([1.0, 2.0], name="w")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  value was made here:
  test_assign_another_dtype.py, in test_message
    |     n = sg.constant([1, 2], name="n")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: convert one of them: cast(value, sg.float32)
"""


def test_message():
    w = sg.Variable([1.0, 2.0], name="w")
    n = sg.constant([1, 2], name="n")
    told = message(TypeError, lambda: sg.assign_add(w, n))
    assert told == EXPECTED
