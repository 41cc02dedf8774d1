"""Rows of different lengths."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
the value fed to x:0 (float32[?, ?]) is not an array: its rows differ in length: [[1, 2], [3]]

  test_feed_ragged.py, in <lambda>
    |         told = message(FeedError, lambda: sess.run(x, {x: [[1, 2], [3]]}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  x:0 was made here:
  test_feed_ragged.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, None], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: pad the rows to one length, or feed the flat values and the lengths
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, None], name="x")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.run(x, {x: [[1, 2], [3]]}))
    assert told == EXPECTED
