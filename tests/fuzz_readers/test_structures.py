"""Files whose parts repeat, nest or refer to each other in circles are read or refused soon.

The same hundreds each time, and ten times as many with `pytest -m slow`; `tools/fuzz/structures.py` goes on.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from tests.fuzz_readers.splices import copied, spliced
from tests.fuzz_readers.structures import STRUCTURES, search
from tests.fuzz_readers.watch import MEMORY


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


@pytest.mark.parametrize("name", STRUCTURES)
def test_seeds_are_read(name: str, folder: Path):
    for seed in STRUCTURES[name].seeds():
        assert STRUCTURES[name].attempt(copied(seed), folder)


@pytest.mark.takes_long
@pytest.mark.parametrize("name", STRUCTURES)
def test_changed_structures_are_read_or_refused(name: str, folder: Path):
    runs = STRUCTURES[name].runs
    assert 0 < search(name, 0, runs, folder) < runs


@pytest.mark.slow
@pytest.mark.parametrize("name", STRUCTURES)
def test_more_changed_structures_are_read_or_refused(name: str, folder: Path):
    search(name, 1, 10 * STRUCTURES[name].runs, folder)


def test_the_same_seed_is_the_same_change():
    seeds = STRUCTURES["onnx"].seeds()
    one, other = (spliced(seeds[1], seeds, Random(5)).SerializeToString() for _ in range(2))
    assert one == other != seeds[1].SerializeToString()
