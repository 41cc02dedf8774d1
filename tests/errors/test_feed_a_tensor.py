"""A tensor as the value of a feed."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
the value fed to x:0 (float32[]) is a tensor: <sg.Tensor 'Const:0' shape=() dtype=float32>

  test_feed_a_tensor.py, in <lambda>
    |         told = message(FeedError, lambda: sess.run(x, {x: sg.constant(1.0)}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  x:0 was made here:
  test_feed_a_tensor.py, in test_message
    |     x = sg.placeholder(sg.float32, [], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: feed a value, such as what run() returned
"""


def test_message():
    x = sg.placeholder(sg.float32, [], name="x")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.run(x, {x: sg.constant(1.0)}))
    assert told == EXPECTED
