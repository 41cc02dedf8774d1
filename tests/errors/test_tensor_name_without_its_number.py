"""The name of an operation."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
'loss' is an operation's name: a tensor's is operation:index

  test_tensor_name_without_its_number.py, in <lambda>
    |     told = message(ValueError, lambda: sg.get_default_graph().get_tensor_by_name("loss"))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: its first output is loss:0
"""


def test_message():
    sg.constant(1.0, name="loss")
    told = message(ValueError, lambda: sg.get_default_graph().get_tensor_by_name("loss"))
    assert told == EXPECTED
