"""An index that is no integer."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
0.5 cannot be an index

  test_index_is_a_fraction.py, in <lambda>
    |     told = message(TypeError, lambda: x[0.5])
    |                                       ^^^^^^
  hint: an index is an integer, a slice, `...`, None (a new axis) or an integer tensor of rank 0;
        gather takes lists of indices, boolean_mask a mask
"""


def test_message():
    x = sg.zeros([4], name="x")
    told = message(TypeError, lambda: x[0.5])
    assert told == EXPECTED
