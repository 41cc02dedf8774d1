"""A large value is not shown."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the value fed to x:0 (float32[?, 3]) has shape [1000, 2]

  test_feed_long_rows.py, in <lambda>
    |         told = message(ValueError, lambda: sess.run(x, {x: [[1.0, 2.0]] * 1000}))
    |                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  x:0 was made here:
  test_feed_long_rows.py, in test_message
    |     x = sg.placeholder(sg.float32, [None, 3], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: feed an array of shape [?, 3], ? being any size
"""


def test_message():
    x = sg.placeholder(sg.float32, [None, 3], name="x")
    with sg.Session() as sess:
        told = message(ValueError, lambda: sess.run(x, {x: [[1.0, 2.0]] * 1000}))
    assert told == EXPECTED
