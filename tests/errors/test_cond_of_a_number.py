"""The condition is a number."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import DtypeError
from tests.errors.message import message

EXPECTED = """\
cond(pred) must be a truth value, not int32[]

  test_cond_of_a_number.py, in <lambda>
    |     told = message(DtypeError, lambda: sg.cond(n, lambda: n, lambda: -n))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: compare: x > 0
"""


def test_message():
    n = sg.placeholder(sg.int32, [], name="n")
    told = message(DtypeError, lambda: sg.cond(n, lambda: n, lambda: -n))
    assert told == EXPECTED
