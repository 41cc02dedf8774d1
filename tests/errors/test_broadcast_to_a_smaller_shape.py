"""Three columns where two are wanted."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
broadcast_to(input: float32[2, 3], shape=[2, 2]):
shapes [2, 3] and [2, 2] do not broadcast: axis -1 has sizes 3 and 2

  test_broadcast_to_a_smaller_shape.py, in <lambda>
    |     told = message(ValueError, lambda: sg.broadcast_to(x, [2, 2]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^
  input was made here:
  test_broadcast_to_a_smaller_shape.py, in test_message
    |     x = sg.zeros([2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: sizes must be equal, or one of them 1
"""


def test_message():
    x = sg.zeros([2, 3], name="x")
    told = message(ValueError, lambda: sg.broadcast_to(x, [2, 2]))
    assert told == EXPECTED
