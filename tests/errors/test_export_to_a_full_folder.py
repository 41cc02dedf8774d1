"""A failed export leaves the file that was saved before."""

from pathlib import Path

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
Export directory already exists, and isn't empty: model

  test_export_to_a_full_folder.py, in <lambda>
    |             AssertionError, lambda: sg.saved_model.simple_save(sess, "model", {"x": x}, {"y": x * 2})
    |                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: choose another folder, or empty this one
"""


def test_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    x = sg.placeholder(sg.float32, [], name="x")
    Path("model").mkdir()
    Path("model/notes.txt").touch()
    with sg.Session() as sess:
        told = message(
            AssertionError, lambda: sg.saved_model.simple_save(sess, "model", {"x": x}, {"y": x * 2})
        )
    assert told == EXPECTED
