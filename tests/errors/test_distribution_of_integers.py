"""Parameters that are no fractions."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
parameters must have one floating type: loc is int32, scale is int32

  test_distribution_of_integers.py, in <lambda>
    |     told = message(ValueError, lambda: sg.distributions.Normal(0, 1))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: give numbers with a point, such as 1.0, or cast
"""


def test_message():
    told = message(ValueError, lambda: sg.distributions.Normal(0, 1))
    assert told == EXPECTED
