"""A size that nobody knows."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
constant: None cannot be a part of a tensor

  test_zeros_of_unknown_size.py, in <lambda>
    |     told = message(TypeError, lambda: sg.zeros([x.shape[0], 3]))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: an unknown size is shape(x)[axis]
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    told = message(TypeError, lambda: sg.zeros([x.shape[0], 3]))
    assert told == EXPECTED
