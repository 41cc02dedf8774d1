"""Labels and logits by position."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
softmax_cross_entropy_with_logits takes its arguments by name

  test_cross_entropy_without_names.py, in <lambda>
    |     told = message(ValueError, lambda: sg.nn.softmax_cross_entropy_with_logits(x, x))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: softmax_cross_entropy_with_logits(labels=..., logits=...)
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    told = message(ValueError, lambda: sg.nn.softmax_cross_entropy_with_logits(x, x))
    assert told == EXPECTED
