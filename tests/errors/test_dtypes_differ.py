"""An integer tensor and a floating one."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import DtypeError
from tests.errors.message import message

EXPECTED = """\
add(x: float32[], y: int32[]): y is int32, and must be float32

  test_dtypes_differ.py, in <lambda>
    |     told = message(DtypeError, lambda: x + n)
    |                                        ^^^^^
  x was made here:
  test_dtypes_differ.py, in test_message
    |     x = sg.placeholder(sg.float32, [], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  y was made here:
  test_dtypes_differ.py, in test_message
    |     n = sg.placeholder(sg.int32, [], name="n")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: convert one of them: cast(y, sg.float32)
"""


def test_message():
    x = sg.placeholder(sg.float32, [], name="x")
    n = sg.placeholder(sg.int32, [], name="n")
    told = message(DtypeError, lambda: x + n)
    assert told == EXPECTED
