"""The body of a loop returns more than there are loop variables."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the body of a loop must return the structure of the loop variables: the structures differ:
one has 1 parts, the other 2
  first:  [0]
  second: [<sg.Tensor 'while/add:0' shape=() dtype=int32>, <sg.Tensor 'while/Identity:0' s...

  test_loop_returns_another_structure.py, in <lambda>
    |     told = message(ValueError, lambda: sg.while_loop(lambda i: i < 3, lambda i: (i + 1, i), [0]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: return one value for each loop variable, in order
"""


def test_message():
    told = message(ValueError, lambda: sg.while_loop(lambda i: i < 3, lambda i: (i + 1, i), [0]))
    assert told == EXPECTED
