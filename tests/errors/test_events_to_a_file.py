"""A folder of events below a file."""

from pathlib import Path

import pytest

import staticgraph as sg
from tests.errors.message import message

EXPECTED = """\
events cannot be written to logs/first: Not a directory

  test_events_to_a_file.py, in <lambda>
    |     told = message(OSError, lambda: sg.summary.FileWriter("logs/first"))
    |                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: give a folder that this program may write to
"""


def test_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("logs").touch()
    told = message(OSError, lambda: sg.summary.FileWriter("logs/first"))
    assert told == EXPECTED
