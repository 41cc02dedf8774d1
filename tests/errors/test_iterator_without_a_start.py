"""The initializer was not run."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
IteratorGetNext (IteratorGetNext): GetNext() failed because the iterator has not been initialized.

  test_iterator_without_a_start.py, in test_message
    |     row = iterator.get_next()
    |           ^^^^^^^^^^^^^^^^^^^
  hint: run iterator.initializer first
"""


def test_message():
    iterator = sg.data.Dataset.range(1).make_initializable_iterator()
    row = iterator.get_next()
    with sg.Session() as sess:
        told = message(sg.errors.FailedPreconditionError, lambda: sess.run(row))
    assert told == EXPECTED
