"""A folder that does not exist."""

from pathlib import Path

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
The passed save_path is not a valid checkpoint: model/model.ckpt

  test_restore_from_nowhere.py, in <lambda>
    |         told = message(ValueError, lambda: sg.train.Saver().restore(sess, "model/model.ckpt"))
    |                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: the folder model does not exist
"""


def test_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    sg.Variable(1.0, name="w")
    with sg.Session() as sess:
        told = message(ValueError, lambda: sg.train.Saver().restore(sess, "model/model.ckpt"))
    assert told == EXPECTED
