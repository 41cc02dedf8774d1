"""Nothing that counts steps."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
a learning rate schedule needs a global_step

  test_schedule_without_a_step.py, in <lambda>
    |     told = message(ValueError, lambda: sg.train.exponential_decay(0.1, None, 10, 0.5))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: sg.train.get_or_create_global_step()
"""


def test_message():
    told = message(ValueError, lambda: sg.train.exponential_decay(0.1, None, 10, 0.5))
    assert told == EXPECTED
