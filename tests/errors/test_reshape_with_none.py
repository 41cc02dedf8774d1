"""None if -1 is meant."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
reshape(tensor: float32[2, 3], shape=[None, 3]): [None, 3] has an unknown entry

  test_reshape_with_none.py, in <lambda>
    |     told = message(ValueError, lambda: sg.reshape(x, [None, 3]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^
  tensor was made here:
  test_reshape_with_none.py, in test_message
    |     x = sg.placeholder(sg.float32, [2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: use -1, or shape(x)[axis]
"""


def test_message():
    x = sg.placeholder(sg.float32, [2, 3], name="x")
    told = message(ValueError, lambda: sg.reshape(x, [None, 3]))
    assert told == EXPECTED
