"""Nothing comes any more."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
fifo_queue_Dequeue (QueueDequeueV2):
FIFOQueue 'fifo_queue' is closed and has insufficient elements (requested 1, current size 0)

  test_closed_queue.py, in test_message
    |     row = queue.dequeue()
    |           ^^^^^^^^^^^^^^^
  hint: no more comes: this is how an input ends
"""


def test_message():
    queue = sg.FIFOQueue(2, sg.float32)
    row = queue.dequeue()
    with sg.Session() as sess:
        sess.run(queue.close())
        told = message(sg.errors.OutOfRangeError, lambda: sess.run(row))
    assert told == EXPECTED
