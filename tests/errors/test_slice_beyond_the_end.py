"""More elements than are left."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
slice(input_: float32[4], begin=[2], size=[3]): axis 0 of size 4 has no elements 2 to 4

  test_slice_beyond_the_end.py, in <lambda>
    |     told = message(ValueError, lambda: sg.slice(x, [2], [3]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^
  input_ was made here:
  test_slice_beyond_the_end.py, in test_message
    |     x = sg.zeros([4], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^
  hint: a size of -1 takes all that is left
"""


def test_message():
    x = sg.zeros([4], name="x")
    told = message(ValueError, lambda: sg.slice(x, [2], [3]))
    assert told == EXPECTED
