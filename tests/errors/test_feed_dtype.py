"""Fractions for an integer placeholder."""

import staticgraph as sg
from staticgraph.compiler.graph.errors import FeedError
from tests.errors.message import message

EXPECTED = """\
the value fed to labels:0 (int32[?]) is float64: array([0.5, 1. ])

  test_feed_dtype.py, in <lambda>
    |         told = message(FeedError, lambda: sess.run(labels, {labels: [0.5, 1.0]}))
    |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  labels:0 was made here:
  test_feed_dtype.py, in test_message
    |     labels = sg.placeholder(sg.int32, [None], name="labels")
    |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: convert it first: value.astype(np.int32) drops the fractions
"""


def test_message():
    labels = sg.placeholder(sg.int32, [None], name="labels")
    with sg.Session() as sess:
        told = message(FeedError, lambda: sess.run(labels, {labels: [0.5, 1.0]}))
    assert told == EXPECTED
