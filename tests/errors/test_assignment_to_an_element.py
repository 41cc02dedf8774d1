"""A tensor is not changed."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the elements of a Tensor cannot be assigned

  test_assignment_to_an_element.py, in <lambda>
    |     told = message(TypeError, lambda: x.__setitem__(0, 1.0))
    |                                       ^^^^^^^^^^^^^^^^^^^^^
  hint: make another tensor, with where or concat; a Variable's part is assigned by scatter_update
"""


def test_message():
    x = sg.zeros([4], name="x")
    told = message(TypeError, lambda: x.__setitem__(0, 1.0))
    assert told == EXPECTED
