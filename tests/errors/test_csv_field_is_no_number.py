"""A field of a line of CSV is not of the type of its column."""

import pytest

import staticgraph as sg
from tests.errors.message import tidy

EXPECTED = """\
DecodeCSV (DecodeCSV): field 1 of record 0: the string 'old' is not a number of type int32

  test_csv_field_is_no_number.py, in test_message
    |     _, age = sg.io.decode_csv("ann,old", [["nobody"], [0]])
    |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: record_defaults tells the types of the columns: [""] is one of strings
"""


def test_message():
    _, age = sg.io.decode_csv("ann,old", [["nobody"], [0]])
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError) as caught:
        sess.run(age)
    assert tidy(str(caught.value)) == EXPECTED
