"""Two sizes cannot be inferred."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
reshape(tensor: float32[2, 3], shape=[-1, -1]): shape [-1, -1] has more than one -1

  test_reshape_with_two_unknown_sizes.py, in <lambda>
    |     told = message(ValueError, lambda: sg.reshape(x, [-1, -1]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^
  tensor was made here:
  test_reshape_with_two_unknown_sizes.py, in test_message
    |     x = sg.placeholder(sg.float32, [2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: only one size can be inferred from the others
"""


def test_message():
    x = sg.placeholder(sg.float32, [2, 3], name="x")
    told = message(ValueError, lambda: sg.reshape(x, [-1, -1]))
    assert told == EXPECTED
