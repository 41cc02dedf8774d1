"""An assertion does not hold while the graph runs."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError
from tests.errors.message import message

EXPECTED = """\
assert_positive/Assert/Assert (Assert):
assertion failed: [sizes] [Condition x > 0 did not hold element-wise:] [x (x:0) = ] [1 -2]

  test_assertion_fails.py, in test_message
    |     check = sg.assert_positive(x, message="sizes")
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
"""


def test_message():
    x = sg.placeholder(sg.float32, [None], name="x")
    check = sg.assert_positive(x, message="sizes")
    told = message(InvalidArgumentError, lambda: sg.Session().run(check, {x: [1, -2]}), cure=False)
    assert told == EXPECTED
