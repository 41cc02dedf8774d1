"""A missing value."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
the value fed to x:0 (float32[?]) is not an array of numbers: None

  test_feed_none.py, in <lambda>
    |         told = message(ValueError, lambda: sess.run(x, {x: None}))
    |                                            ^^^^^^^^^^^^^^^^^^^^^^
  x:0 was made here:
  test_feed_none.py, in test_message
    |     x = sg.placeholder(sg.float32, [None], name="x")
    |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: a missing number is np.nan
"""


def test_message():
    x = sg.placeholder(sg.float32, [None], name="x")
    with sg.Session() as sess:
        told = message(ValueError, lambda: sess.run(x, {x: None}))
    assert told == EXPECTED
