"""Another shape than the one that is known."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
x:0: the known shape and the given one: [?, 3] and [4, 4] differ

  test_set_shape_that_contradicts.py, in <lambda>
    |     told = message(ValueError, lambda: x.set_shape([4, 4]))
    |                                        ^^^^^^^^^^^^^^^^^^^
  x:0 was made here:
  test_set_shape_that_contradicts.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: sizes must agree, axis by axis
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    told = message(ValueError, lambda: x.set_shape([4, 4]))
    assert told == EXPECTED
