"""Rows of other lengths."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
constant: the rows of [[1, 2], [3]] differ in length

  test_constant_of_ragged_rows.py, in <lambda>
    |     told = message(ValueError, lambda: sg.constant([[1, 2], [3]]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: rows must have one length: pad them, or use a SparseTensor
"""


def test_message():
    told = message(ValueError, lambda: sg.constant([[1, 2], [3]]))
    assert told == EXPECTED
