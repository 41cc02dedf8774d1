"""A key that is no tensor."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
cannot feed 1: 1 of type int is not a Tensor

  test_feed_a_number_as_key.py, in <lambda>
    |         told = message(TypeError, lambda: sess.run(x, {1: 2.0}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^
  hint: the keys of feed_dict are tensors, variables, and names such as 'x:0'
"""


def test_message():
    x = sg.placeholder(sg.float32, [], name="x")
    with sg.Session() as sess:
        told = message(TypeError, lambda: sess.run(x, {1: 2.0}))
    assert told == EXPECTED
