"""A feed_dict that is no dict."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
feed_dict is a list

  test_feed_dict_is_a_list.py, in <lambda>
    |         told = message(FeedError, lambda: sess.run(x, [x, 1.0]))
    |                                           ^^^^^^^^^^^^^^^^^^^^^
  hint: it must be a dict of tensors and values: feed_dict={x: value}
"""


def test_message():
    x = sg.placeholder(sg.float32, [], name="x")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.run(x, [x, 1.0]))
    assert told == EXPECTED
