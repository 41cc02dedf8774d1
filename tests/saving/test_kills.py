"""A process that is killed while it saves leaves the former file or the new one, and nothing for long."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.fuzz_readers.watch import MEMORY
from tests.saving.saves import WAYS

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here"),
    pytest.mark.takes_long,
]


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


def killed(way: str, folder: Path, *times: str) -> int:
    """Return the number of processes that were killed and left what they should."""
    command = [sys.executable, "-m", "tests.saving.saves", way, folder, *times]
    run = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return int(run.stdout)


@pytest.mark.parametrize("way", WAYS)
def test_at_each_call_of_the_system(folder: Path, way: str):
    assert killed(way, folder) >= 12  # before and after each for the file, and for its folder


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_thousand_times_at_any_time(folder: Path, way: str):
    assert killed(way, folder, "1000") == 1000
