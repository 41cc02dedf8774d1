"""A mask is an index by itself, and none beside others, as NumPy has it."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
<sg.Tensor 'Greater:0' shape=(4,) dtype=bool> cannot be an index

  test_index_is_a_mask.py, in <lambda>
    |     told = message(TypeError, lambda: x[mask, 0])
    |                                       ^^^^^^^^^^
  hint: an index is an integer, a slice, `...`, None (a new axis) or an integer tensor of rank 0;
        gather takes lists of indices, boolean_mask a mask
"""


def test_message():
    x, mask = sg.zeros([4, 3]), sg.zeros([4]) > 0
    told = message(TypeError, lambda: x[mask, 0])
    assert told == EXPECTED
