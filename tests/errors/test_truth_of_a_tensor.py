"""`if tensor:` while the graph is built."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
x:0 has no truth value while the graph is built: use `is not None` to ask whether it exists, and cond or where to decide by its value
"""


def test_message():
    x = sg.placeholder(sg.bool, [], name="x")
    told = message(TypeError, lambda: bool(x))
    assert told == EXPECTED
