"""Limits of reading a file: time that does not depend on what it claims, and memory near its own size."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where a folder is in memory: disks are slow
SECONDS = 2.0  # of the processor: a busy machine changes nothing
ROOM = 64 << 20  # bytes that any reader may take, besides
GROWTH = 4  # times the size of the file
_AGAIN = 0.2  # until the next alarm: Python drops an exception in a finalizer or in a callback of a weakref
_PAGE = os.sysconf("SC_PAGE_SIZE")


class TooSlow(BaseException):
    """A reader took too long. It is no Exception, which a reader may turn into an error of its own."""


class TooLarge(AssertionError):
    """A reader took too much memory."""


@contextmanager
def watched(size: int, seconds: float = SECONDS) -> Iterator[None]:
    """TooSlow or TooLarge where reading so many bytes costs more than it may."""
    before = _now() if _forgotten() else _most()
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        taken = _most() - before
        if taken > GROWTH * size + ROOM:
            raise TooLarge(f"{taken >> 20} MB for a file of {size} bytes")


def _forgotten() -> bool:
    """Let the most memory that this process had be what it has now. Some systems do not permit that."""
    try:
        file = os.open("/proc/self/clear_refs", os.O_WRONLY)
    except OSError:
        return False
    try:
        return os.write(file, b"5") == 1
    except OSError:
        return False
    finally:
        os.close(file)


def _most() -> int:
    """The most memory that this process had, in bytes."""
    _, _, told = _read("status").partition(b"VmHWM:")
    return int(told.split(maxsplit=1)[0]) << 10


def _now() -> int:
    """The memory that this process has, in bytes."""
    return int(_read("statm").split(maxsplit=2)[1]) * _PAGE


def _read(name: str) -> bytes:
    file = os.open(f"/proc/self/{name}", os.O_RDONLY)  # a third of what `open` takes, and it is done often
    try:
        return os.read(file, 4096)
    finally:
        os.close(file)


def _stop(signal: int, frame: FrameType | None) -> None:
    raise TooSlow("it has not finished in time")
