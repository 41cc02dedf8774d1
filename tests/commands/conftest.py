"""Files that the commands' tests read, written once."""

from pathlib import Path

import pytest

import staticgraph as sg
from tests.commands.files import written


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    with sg.Graph().as_default():
        return written(tmp_path_factory.mktemp("files"))


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The width of the terminal that tests run in changes nothing."""
    monkeypatch.delenv("COLUMNS", raising=False)
