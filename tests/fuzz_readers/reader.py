"""A reader of files that anybody may have written: what it is given, and what it may answer.

A reader takes bytes and gives anything, or one of its errors; whatever else it raises is a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SEEDS = Path(__file__).parent / "seeds"

_FAULTS = (RecursionError, NotImplementedError, MemoryError, AssertionError)  # whatever else they are


@dataclass(frozen=True, slots=True)
class Reader:
    """`read(data, folder)` writes what it needs into the folder and reads it. `seeds` are good inputs."""

    read: Callable[[bytes, Path], Any]
    errors: tuple[type[Exception], ...]
    files: str  # the seeds: a pattern in their folder
    runs: int = 1000  # of a test; a slow reader gets fewer

    def seeds(self) -> list[bytes]:
        """The inputs to begin with, the smallest first."""
        found = [path.read_bytes() for path in SEEDS.glob(self.files)]
        return sorted(found, key=lambda seed: (len(seed), seed))

    def attempt(self, data: bytes, folder: Path) -> bool:
        """Return True if the reader takes the data. Any exception but its errors goes through."""
        try:
            self.read(data, folder)
        except self.errors as error:
            assert not isinstance(error, _FAULTS), error
            return False
        return True


def of_file(name: str, read: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    """A reader of a file of that name."""

    def attempt(data: bytes, folder: Path) -> None:
        path = folder / name
        path.write_bytes(data)
        read(path)

    return attempt
