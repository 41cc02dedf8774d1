"""More elements than the shape has."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
constant: 3 elements of shape [3] do not fit into shape [2]

  test_constant_with_too_many_elements.py, in <lambda>
    |     told = message(ValueError, lambda: sg.constant([1, 2, 3], shape=[2]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: fewer elements are filled up with the last one, more are refused
"""


def test_message():
    told = message(ValueError, lambda: sg.constant([1, 2, 3], shape=[2]))
    assert told == EXPECTED
