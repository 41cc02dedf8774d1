"""The two sides of a cond return other numbers of things."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the branches must return the same structure: the structures differ: one has 2 parts, the other 1
  first:  [<sg.Tensor 'p:0' shape=() dtype=bool>, <sg.Tensor 'p:0' shape=() dtype=bool>]
  second: [<sg.Tensor 'p:0' shape=() dtype=bool>]

  test_branches_of_other_structures.py, in <lambda>
    |     told = message(ValueError, lambda: sg.cond(p, lambda: [p, p], lambda: [p]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: as many values, nested in the same way
"""


def test_message():
    p = sg.placeholder(sg.bool, [], name="p")
    told = message(ValueError, lambda: sg.cond(p, lambda: [p, p], lambda: [p]))
    assert told == EXPECTED
