"""The order of arguments before TensorFlow 1.0."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
concat is given the axis 0 first

  test_concat_with_the_axis_first.py, in <lambda>
    |     told = message(TypeError, lambda: sg.concat(0, [a, a]))
    |                                       ^^^^^^^^^^^^^^^^^^^^
  hint: concat([x, y], axis)
"""


def test_message():
    a = sg.zeros([2], name="a")
    told = message(TypeError, lambda: sg.concat(0, [a, a]))
    assert told == EXPECTED
