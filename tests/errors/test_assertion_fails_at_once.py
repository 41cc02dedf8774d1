"""An assertion about constants does not hold."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError
from tests.errors.message import message

EXPECTED = """\
Condition x < y did not hold element-wise:
x (a:0) =
[1 2]
y (b:0) =
2

  test_assertion_fails_at_once.py, in <lambda>
    |     told = message(InvalidArgumentError, lambda: sg.assert_less(a, b), cure=False)
    |                                                  ^^^^^^^^^^^^^^^^^^^^
"""


def test_message():
    a, b = sg.constant([1, 2], name="a"), sg.constant(2, name="b")
    told = message(InvalidArgumentError, lambda: sg.assert_less(a, b), cure=False)
    assert told == EXPECTED
