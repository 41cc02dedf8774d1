"""A run in a thread tells the line of the operation."""

import threading

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
reshape(float32[1]): for [-1, 4] the 1 elements of [1] must be evenly divisible by 4

  test_error_in_a_thread.py, in test_message
    |     rows = sg.reshape(x, [-1, 4])
    |            ^^^^^^^^^^^^^^^^^^^^^^
  hint: the product of the other sizes must divide the number of elements
"""


def test_message():
    x = sg.placeholder(sg.float32, [None], name="x")
    rows = sg.reshape(x, [-1, 4])
    failed = []
    with sg.Session() as sess:

        def work():
            try:
                sess.run(rows, {x: [1.0]})
            except sg.errors.InvalidArgumentError as error:
                failed.append(error)

        def act():
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            raise failed[0]

        told = message(sg.errors.InvalidArgumentError, act)
    assert told == EXPECTED
