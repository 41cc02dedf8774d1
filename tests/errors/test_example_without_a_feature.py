"""An example has not the feature that it must have."""

import pytest

import staticgraph as sg
from tests.errors.message import tidy

EXPECTED = """\
ParseSingleExample/ParseSingleExample (ParseSingleExample):
feature 'label' of example 0 is missing, and has no default

  test_example_without_a_feature.py, in test_message
    |     read = sg.io.parse_single_example(b"", {"label": sg.io.FixedLenFeature([], sg.int64)})
    |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: FixedLenFeature(default_value=...) fills it in; a VarLenFeature may be missing
"""


def test_message():
    read = sg.io.parse_single_example(b"", {"label": sg.io.FixedLenFeature([], sg.int64)})
    with sg.Session() as sess, pytest.raises(sg.errors.InvalidArgumentError) as caught:
        sess.run(read["label"])
    assert tidy(str(caught.value)) == EXPECTED
