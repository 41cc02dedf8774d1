"""A name that the library has not: the nearest one is told. `tests/api/test_missing_names.py` has more."""

import pytest

import staticgraph as sg

EXPECTED = """\
module 'staticgraph' has no attribute 'reduce_summ'

  test_misspelled_name.py:18, in test_message
    18 |         sg.reduce_summ
                 ^^^^^^^^^^^^^^
  hint: did you mean sg.reduce_sum?"""


def test_message():
    with pytest.raises(AttributeError) as caught:
        sg.reduce_summ
    assert str(caught.value) == EXPECTED
    assert caught.value.name == "reduce_summ"
