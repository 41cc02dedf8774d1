"""Two loop variables, and a function of one."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the cond of a loop is called with 2 arguments: too many positional arguments

  test_body_takes_other_arguments.py, in <lambda>
    |     told = message(TypeError, lambda: sg.while_loop(lambda i: i < 3, lambda i: i + 1, [0, 1]))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: it is defined as <lambda>(i)
"""


def test_message():
    told = message(TypeError, lambda: sg.while_loop(lambda i: i < 3, lambda i: i + 1, [0, 1]))
    assert told == EXPECTED
