"""Whichever call of the system fails: the former file stays, one error says so, and nothing else is left."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from staticgraph.compiler.graph.errors import SaveError
from tests.fuzz_readers.watch import MEMORY
from tests.saving.saves import CALLS, WAYS, Way, left_over, number

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EINTR)


class Faults:
    """Makes the `failing`-th call fail. No call does where that is 0."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls = self.failing = 0
        self.code = errno.EIO
        self.failed = ""
        for name in CALLS:
            patch.setattr(os, name, self.wrapped(name, getattr(os, name)))

    def wrapped(self, name: str, real: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls == self.failing:
                self.failed = name
                raise OSError(self.code, os.strerror(self.code), arguments[0])
            return real(*arguments, **options)

        return call

    @contextmanager
    def at(self, call: int, code: int) -> Iterator[None]:
        self.calls, self.failing, self.code, self.failed = 0, call, code, ""
        yield
        self.failing = 0


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.takes_long
@pytest.mark.parametrize("name", WAYS)
def test_each_call_may_fail(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    way, folder = WAYS[name], folder / "folder"
    refused = set()
    faults = Faults(monkeypatch)
    folder.mkdir()
    way.save(folder, 1)
    with faults.at(0, 0):
        way.save(folder, 1)
    calls = faults.calls
    assert calls >= 6
    for code in ERRORS:
        for call in range(1, calls + 1):
            attempt(way, folder, faults, call, code)
            refused.add(faults.failed)
    assert {"open", "write", "fsync", "replace"} <= refused


def attempt(way: Way, folder: Path, faults: Faults, call: int, code: int) -> None:
    """Save 2 over 1 while a call fails; then without a failure."""
    shutil.rmtree(folder)
    folder.mkdir()
    way.save(folder, 1)
    before = files(folder)
    try:
        with faults.at(call, code):
            way.save(folder, 2)
    except SaveError as error:
        assert str(error).startswith(f"cannot save to {folder}")
        assert os.strerror(code) in str(error) or code in (errno.ENOSPC, errno.EACCES)
        assert "hint: " in str(error) and error.__cause__ is None and error.__suppress_context__
        if len(before) == 1:
            assert files(folder) == before
        assert number(way, folder) in (1, 2)  # the checkpoint may be written, and the graph beside it not
    else:
        assert number(way, folder) == 2
    way.save(folder, 3)
    assert number(way, folder) == 3 and not left_over(folder)
