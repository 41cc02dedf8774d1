"""A column of which the input function gives nothing."""

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
Feature age is not in features dictionary.

  test_feature_is_missing.py, in <lambda>
    |     told = message(ValueError, lambda: sg.feature_column.input_layer({"size": sg.zeros([2, 1])}, [age]))
    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: it has size
"""


def test_message():
    age = sg.feature_column.numeric_column("age")
    told = message(ValueError, lambda: sg.feature_column.input_layer({"size": sg.zeros([2, 1])}, [age]))
    assert told == EXPECTED
