"""A fed array of another shape."""

import numpy as np

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
the value fed to x:0 (float32[?, 784]) has shape [32, 28]

  test_feed_shape.py, in <lambda>
    |         told = message(FeedError, lambda: sess.run(x, {x: np.zeros((32, 28))}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  x:0 was made here:
  test_feed_shape.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 784], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: feed an array of shape [?, 784], ? being any size
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 784], name="x")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.run(x, {x: np.zeros((32, 28))}))
    assert told == EXPECTED
