"""A fetch that is no part of a graph."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
cannot fetch 3: 3 of type int is not a Tensor or Operation

  test_fetch_a_number.py, in <lambda>
    |         told = message(TypeError, lambda: sess.run(3))
    |                                           ^^^^^^^^^^^
  hint: fetches are tensors, operations, variables, and names such as 'x:0'
"""


def test_message():
    sg.constant(1.0)
    with sg.Session() as sess:
        told = message(TypeError, lambda: sess.run(3))
    assert told == EXPECTED
