"""A feed by a name that the graph does not have."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
cannot feed 'image:0': the graph has no operation 'image'

  test_feed_unknown_name.py, in <lambda>
    |         told = message(FeedError, lambda: sess.run(images, {"image:0": 1.0}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: did you mean 'images'?
"""


def test_message():
    images = sg.placeholder(sg.float32, [], name="images")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.run(images, {"image:0": 1.0}))
    assert told == EXPECTED
