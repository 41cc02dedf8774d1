"""Python's `for` over elements that only a run knows."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
a dataset has no elements while the graph is built

  test_dataset_is_iterated_over.py, in <lambda>
    |     told = message(RuntimeError, lambda: list(data))
    |                                          ^^^^^^^^^^
  hint: run(dataset.make_one_shot_iterator().get_next()) gives one after the other
"""


def test_message():
    data = sg.data.Dataset.range(3)
    told = message(RuntimeError, lambda: list(data))
    assert told == EXPECTED
