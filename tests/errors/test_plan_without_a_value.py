"""A plan with the shape of a feed whose value other shapes depend on."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
shapes depend on the value of n, of which only the shape is known here

  test_plan_without_a_value.py, in <lambda>
    |         told = message(FeedError, lambda: sess.plan(sg.fill([n], 1.0), shapes={n: []}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: feed it: plan(..., feed_dict={n: value})
"""


def test_message():
    n = sg.placeholder(sg.int32, [], name="n")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.plan(sg.fill([n], 1.0), shapes={n: []}))
    assert told == EXPECTED
