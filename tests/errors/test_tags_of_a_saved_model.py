"""Another tag than those that were saved."""

from pathlib import Path

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
MetaGraphDef associated with tags 'train' could not be found in SavedModel

  test_tags_of_a_saved_model.py, in <lambda>
    |         told = message(RuntimeError, lambda: sg.saved_model.loader.load(sess, ["train"], "model"))
    |                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: its graphs have the tags: serve
"""


def test_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    x = sg.placeholder(sg.float32, [], name="x")
    with sg.Session() as sess:
        sg.saved_model.simple_save(sess, "model", {"x": x}, {"y": x * 2})
        told = message(RuntimeError, lambda: sg.saved_model.loader.load(sess, ["train"], "model"))
    assert told == EXPECTED
