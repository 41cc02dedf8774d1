"""A scalar summary takes one number."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
scalar_summary(tags='loss', values: float32[2]):
the value of a scalar summary is float32[2], it must be one number

  test_scalar_summary_of_a_vector.py, in <lambda>
    |     assert message(ValueError, lambda: sg.summary.scalar("loss", losses)) == EXPECTED
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  values was made here:
  test_scalar_summary_of_a_vector.py, in test_message
    |     losses = sg.constant([1.0, 2.0], name="losses")
    |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: reduce_mean(x) is one number; summary.histogram takes any
"""


def test_message():
    losses = sg.constant([1.0, 2.0], name="losses")
    assert message(ValueError, lambda: sg.summary.scalar("loss", losses)) == EXPECTED
