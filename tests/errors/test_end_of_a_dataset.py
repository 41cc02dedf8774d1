"""All elements were there."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
IteratorGetNext (IteratorGetNext): End of sequence

  test_end_of_a_dataset.py, in test_message
    |     row = sg.data.Dataset.range(1).make_one_shot_iterator().get_next()
    |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: repeat() begins anew; except sg.errors.OutOfRangeError ends a loop over the elements
"""


def test_message():
    row = sg.data.Dataset.range(1).make_one_shot_iterator().get_next()
    with sg.Session() as sess:
        sess.run(row)
        told = message(sg.errors.OutOfRangeError, lambda: sess.run(row))
    assert told == EXPECTED
