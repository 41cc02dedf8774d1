"""A path from elsewhere."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
IteratorGetNext (IteratorGetNext): none.txt; No such file or directory

  test_file_of_a_dataset_is_missing.py, in test_message
    |     line = sg.data.TextLineDataset(["none.txt"]).make_one_shot_iterator().get_next()
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: paths are relative to the folder in which the program was started
"""


def test_message():
    line = sg.data.TextLineDataset(["none.txt"]).make_one_shot_iterator().get_next()
    with sg.Session() as sess:
        told = message(sg.errors.NotFoundError, lambda: sess.run(line))
    assert told == EXPECTED
