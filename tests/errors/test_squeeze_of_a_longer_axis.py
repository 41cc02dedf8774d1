"""An axis that is not of size 1."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
squeeze(input: float32[2, 3], axis=[0]): axis 0 has size 2, and only axes of size 1 can be removed

  test_squeeze_of_a_longer_axis.py, in <lambda>
    |     told = message(ValueError, lambda: sg.squeeze(x, [0]))
    |                                        ^^^^^^^^^^^^^^^^^^
  input was made here:
  test_squeeze_of_a_longer_axis.py, in test_message
    |     x = sg.zeros([2, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: leave axis away to remove all axes of size 1; x[0] takes one part of an axis
"""


def test_message():
    x = sg.zeros([2, 3], name="x")
    told = message(ValueError, lambda: sg.squeeze(x, [0]))
    assert told == EXPECTED
