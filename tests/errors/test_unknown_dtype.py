"""A misspelled type."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
'float33' is not an element type

  test_unknown_dtype.py, in <lambda>
    |     told = message(TypeError, lambda: sg.placeholder("float33"))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: these are: float16, float32, float64, bfloat16, int8, int16, int32, int64, uint8, uint16,
        uint32, uint64, bool, complex64, complex128, string
"""


def test_message():
    told = message(TypeError, lambda: sg.placeholder("float33"))
    assert told == EXPECTED
