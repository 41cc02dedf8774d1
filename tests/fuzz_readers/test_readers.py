"""Whatever bytes a reader is given, it answers with a value or one of its errors, soon and in little memory.

The same few thousand changes of the seeds each time, and three times as many with `pytest -m slow`. That also
lets `tools/fuzz/readers.py` search on: a million files for each reader, led by the lines that they reach.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from tests.fuzz_readers.readers import READERS
from tests.fuzz_readers.watch import MEMORY, TooLarge, TooSlow, watched

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "fuzz" / "readers.py"
TELLING = [b"", b"\0", b"\xff", b"\x80", b"\x7f", b"\xff" * 4, b"\xff" * 8, b"\0" * 8, b"[" * 50, b"9" * 20]


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


def changed(chance: Random, seeds: list[bytes]) -> bytes:
    """A seed with a few parts changed, moved, taken from another seed, or cut off."""
    data = bytearray(chance.choice(seeds))
    for _ in range(chance.choice([1, 1, 1, 2, 4, 8])):
        at = chance.randrange(len(data) + 1)
        to = min(len(data), at + chance.choice([1, 1, 2, 4, 8, 30]))
        match chance.randrange(7):
            case 0 if at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            case 1 if at < len(data):
                data[at] = chance.randrange(256)
            case 2:
                data[at:to] = chance.choice(TELLING)
            case 3:
                data[at:at] = chance.choice(TELLING)
            case 4:
                other = chance.choice(seeds)
                begin = chance.randrange(len(other) + 1)
                data[at:to] = other[begin : begin + to - at]
            case 5:
                data[at:at] = data[at:to]
            case 6 if not chance.randrange(5):
                del data[at:]
    return bytes(data)


@pytest.mark.parametrize("name", READERS)
def test_seeds_are_read(name: str, folder: Path):
    seeds = READERS[name].seeds()
    assert seeds
    for seed in seeds:
        assert READERS[name].attempt(seed, folder)


@pytest.mark.takes_long
@pytest.mark.parametrize("name", READERS)
def test_changed_seeds_are_read_or_refused(name: str, folder: Path):
    check(name, READERS[name].runs // 3, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_more_changed_seeds_are_read_or_refused(name: str, folder: Path):
    check(name, READERS[name].runs, folder)


def check(name: str, runs: int, folder: Path) -> None:
    reader, chance = READERS[name], Random(name)
    seeds, taken = reader.seeds(), 0
    reader.attempt(seeds[0], folder)  # what it imports is no memory of a file's
    for _ in range(runs):
        data = changed(chance, seeds)
        try:
            with watched(len(data)):
                taken += reader.attempt(data, folder)
        except BaseException as error:
            error.add_note(f"the file: {data!r}")
            raise
    assert taken < runs or not reader.errors, "not one was refused: the reader looks at nothing"


def test_the_watch_sees_what_costs_too_much():
    with pytest.raises(TooSlow), watched(10, 0.1):
        while True:
            pass
    with pytest.raises(TooLarge), watched(10):
        bytearray(b"\1") * (200 << 20)


class Endless:
    """An object whose finalizer does not end."""

    def __del__(self):
        while True:
            pass


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_watch_is_not_silenced():
    """A reader may catch every Exception, and Python drops what is raised in a finalizer."""
    with pytest.raises(TooSlow), watched(10, 0.1):
        try:
            while True:
                pass
        except Exception:
            pass
    with pytest.raises(TooSlow), watched(10, 0.1):
        Endless()
        while True:
            pass


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_search_finds_nothing(name: str, folder: Path):
    pytest.importorskip("atheris")
    command = [sys.executable, TOOL, name, "--runs", "1000000"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-4000:]
