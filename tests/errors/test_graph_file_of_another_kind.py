"""A file that is no graph."""

from pathlib import Path

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
model.sg is not a usable graph file: it is a file of another kind

  test_graph_file_of_another_kind.py, in <lambda>
    |     told = message(sg.errors.DataLossError, lambda: sg.load("model.sg"))
    |                                                     ^^^^^^^^^^^^^^^^^^^
  hint: copy it again from where it came, or save it again
"""


def test_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("model.sg").write_text("hello")
    told = message(sg.errors.DataLossError, lambda: sg.load("model.sg"))
    assert told == EXPECTED
