"""The second output of an operation with one."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
operation 'loss' has 1 output, so there is no 'loss:1'

  test_output_that_does_not_exist.py, in <lambda>
    |     told = message(KeyError, lambda: sg.get_default_graph().get_tensor_by_name("loss:1"))
    |                                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  it was made here:
  test_output_that_does_not_exist.py, in test_message
    |     sg.constant(1.0, name="loss")
    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: outputs are numbered from 0
"""


def test_message():
    sg.constant(1.0, name="loss")
    told = message(KeyError, lambda: sg.get_default_graph().get_tensor_by_name("loss:1"))
    assert told == EXPECTED
