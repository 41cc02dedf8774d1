"""A switch with a value that it does not take."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
math is 'exact', it must be 'precise' or 'fast'

  test_switch_with_a_wrong_value.py, in <lambda>
    |     assert message(ValueError, lambda: sg.Session(math="exact")) == EXPECTED
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^
  hint: docs/switches.md tells what each one does
"""


def test_message():
    assert message(ValueError, lambda: sg.Session(math="exact")) == EXPECTED
