"""Something that cannot be called."""

from pathlib import Path

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
model_fn is 3

  test_model_fn_is_a_number.py, in <lambda>
    |     told = message(TypeError, lambda: sg.estimator.Estimator(3, model_dir=str(tmp_path)))
    |                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: it is a function(features, labels, mode)
"""


def test_message(tmp_path: Path):
    told = message(TypeError, lambda: sg.estimator.Estimator(3, model_dir=str(tmp_path)))
    assert told == EXPECTED
