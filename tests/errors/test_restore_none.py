"""A folder without a checkpoint."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
Can't load save_path when it is None.

  test_restore_none.py, in <lambda>
    |         told = message(ValueError, lambda: saver.restore(sess, None))
    |                                            ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: latest_checkpoint gives None for a folder without checkpoints
"""


def test_message():
    sg.Variable(1.0, name="w")
    saver = sg.train.Saver()
    with sg.Session() as sess:
        told = message(ValueError, lambda: saver.restore(sess, None))
    assert told == EXPECTED
