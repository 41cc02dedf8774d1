"""A placeholder that the fetch needs is not fed."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
You must feed a value for placeholder tensor 'x' (float32[?, 3]):
the fetch loss needs it, by loss <- e <- x

  test_missing_feed.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: add it to the feed_dict: {x: value}
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    loss = sg.reduce_sum(sg.exp(x, name="e"), name="loss")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.run(loss))
    assert told == EXPECTED
