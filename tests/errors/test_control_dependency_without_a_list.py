"""One tensor where a list is needed."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
control_dependencies: <sg.Tensor 'x:0' shape=() dtype=float32> is no list

  test_control_dependency_without_a_list.py, in <lambda>
    |     told = message(TypeError, lambda: sg.control_dependencies(x).__enter__())
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write control_dependencies([x])
"""


def test_message():
    x = sg.constant(1.0, name="x")
    told = message(TypeError, lambda: sg.control_dependencies(x).__enter__())
    assert told == EXPECTED
