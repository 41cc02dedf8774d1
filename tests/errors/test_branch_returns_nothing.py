"""A function without `return`."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
constant: None is no value

  test_branch_returns_nothing.py, in <lambda>
    |     told = message(ValueError, lambda: sg.cond(p, lambda: x, lambda: None))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: a function without `return`, and a gradient that does not exist, give None
"""


def test_message():
    p = sg.placeholder(sg.bool, [], name="p")
    x = sg.constant(1.0, name="x")
    told = message(ValueError, lambda: sg.cond(p, lambda: x, lambda: None))
    assert told == EXPECTED
