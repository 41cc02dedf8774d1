"""The Saver was made first."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
No variables to save

  test_saver_without_variables.py, in <lambda>
    |     told = message(ValueError, lambda: sg.train.Saver())
    |                                        ^^^^^^^^^^^^^^^^
  hint: make them before the Saver, or pass var_list
"""


def test_message():
    told = message(ValueError, lambda: sg.train.Saver())
    assert told == EXPECTED
