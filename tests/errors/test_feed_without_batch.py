"""One example where a batch is wanted."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
the value fed to x:0 (float32[?, 3]) has shape [3]: [1.0, 2.0, 3.0]

  test_feed_without_batch.py, in <lambda>
    |         told = message(FeedError, lambda: sess.run(x, {x: [1.0, 2.0, 3.0]}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  x:0 was made here:
  test_feed_without_batch.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: one axis is missing: for a batch of one, feed value[None]
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.run(x, {x: [1.0, 2.0, 3.0]}))
    assert told == EXPECTED
