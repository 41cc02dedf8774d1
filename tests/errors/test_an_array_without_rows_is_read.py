"""A TensorArray is read to which nothing was written."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
TensorArray.stack: no row was written, and the shape of rows is <unknown>

  test_an_array_without_rows_is_read.py, in <lambda>
    |     told = message(sg.errors.InvalidArgumentError, lambda: rows.stack())
    |                                                            ^^^^^^^^^^^^
  hint: write to the array first, and go on with what write() returns; or give element_shape
"""


def test_message():
    rows = sg.TensorArray(sg.float32, 2)
    told = message(sg.errors.InvalidArgumentError, lambda: rows.stack())
    assert told == EXPECTED
