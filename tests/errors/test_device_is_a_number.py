"""Devices have names."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the device is 0

  test_device_is_a_number.py, in <lambda>
    |     told = message(TypeError, lambda: sg.device(0).__enter__())
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^
  hint: devices are named: '/cpu:0', '/gpu:0'
"""


def test_message():
    told = message(TypeError, lambda: sg.device(0).__enter__())
    assert told == EXPECTED
