"""A condition of unknown shape is fed several truth values."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import InvalidArgumentError
from tests.errors.message import message

EXPECTED = """\
cond/If (If): bool[SHAPE] chooses no branch, it must be one truth value or one int32

  test_condition_is_a_list.py, in test_message
    |     y = sg.cond(wanted, lambda: x + 1.0, lambda: x * 2.0)
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: reduce_all and reduce_any make one truth value of many
"""


def test_message():
    wanted, x = sg.placeholder(sg.bool, name="wanted"), sg.placeholder(sg.float32, [])
    y = sg.cond(wanted, lambda: x + 1.0, lambda: x * 2.0)
    with sg.Session() as session:
        assert session.run(y, {wanted: True, x: 1.0}) == 2.0
        for count in (1, 2):
            feeds = {wanted: [True] * count, x: 1.0}
            told = message(InvalidArgumentError, lambda feeds=feeds: session.run(y, feeds))
            assert told == EXPECTED.replace("SHAPE", str(count))
