"""No variable was made."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
No variables to optimize.

  test_nothing_to_optimize.py, in <lambda>
    |     told = message(ValueError, lambda: sg.train.AdamOptimizer().minimize(loss))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: make a Variable first
"""


def test_message():
    loss = sg.constant(1.0, name="loss")
    told = message(ValueError, lambda: sg.train.AdamOptimizer().minimize(loss))
    assert told == EXPECTED
