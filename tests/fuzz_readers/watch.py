"""What reading a file may cost: time that does not depend on what it claims, and memory near its own size."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where a folder is in memory: disks are slow
SECONDS = 2.0  # of the processor: a busy machine changes nothing
ROOM = 64 << 20  # bytes that any reader may take, besides
GROWTH = 4  # times the size of the file


class TooSlow(AssertionError):
    """A reader took too long."""


class TooLarge(AssertionError):
    """A reader took too much memory."""


@contextmanager
def watched(size: int, seconds: float = SECONDS) -> Iterator[None]:
    """TooSlow or TooLarge where reading so many bytes costs more than it may."""
    _forget()
    former, before = _memory()
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        most, _ = _memory()
        if most > former and most - before > GROWTH * size + ROOM:
            raise TooLarge(f"{most - before >> 20} MB for a file of {size} bytes")


def _forget() -> None:
    """Let the most memory that this process had be what it has now. Some systems do not permit that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _memory() -> tuple[int, int]:
    """The most memory that this process had, and what it has now, in bytes."""
    with open("/proc/self/status", "rb") as file:
        _, _, told = file.read().partition(b"VmHWM:")
    most, _, _, now = told.split(maxsplit=4)[:4]
    return int(most) << 10, int(now) << 10


def _stop(signal: int, frame: FrameType | None) -> None:
    raise TooSlow("it has not finished in time")
