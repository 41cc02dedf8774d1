"""Memory of the machine: how much there is, and how much of it a process may still take.

A system lends more memory than it has, and stops or swaps when it is used. So a run whose sizes ask for more
than there is, such as that of a segment id of 2**31, is refused before any of it is taken.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

MUCH = 1 << 28  # bytes from which on the system is asked if it has them, which takes as long as a small step
_MEMORY = Path("/proc/meminfo")
# Of the process in a container: the files of its limit and its use, and lines of what it holds of files.
_GROUPS = [
    (
        Path("/sys/fs/cgroup/memory.max"),
        Path("/sys/fs/cgroup/memory.current"),
        r"^(?:in)?active_file (\d+)$",
    ),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
        r"^total_(?:in)?active_file (\d+)$",
    ),
]


def require_memory(size: int) -> None:
    """Raise an error if something asks for more memory than the system can give.

    Args:
        size: Bytes that are not taken yet.

    Raises:
        MemoryError: If there are fewer. Nothing has been allocated.
    """
    there = memory() if size >= MUCH else None
    if there is not None and there[1] is not None and size > there[1]:
        raise MemoryError(f"the system does not have {size:,} bytes of memory left")


def memory() -> tuple[int, int | None] | None:
    """Return the bytes of memory of this process.

    Returns:
        Bytes that there are, or that this process may use if these are fewer, and those of them that are
        free, None if the system does not tell. None for a system that tells nothing.
    """
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not a POSIX system
        return None
    told = re.search(r"^MemAvailable:\s*(\d+) kB$", _text(_MEMORY), re.MULTILINE)
    free = 1024 * int(told[1]) if told else None
    limit, left = _group()
    if limit is None or limit >= total:
        return total, free
    return limit, left if free is None else min(left, free)


def _group() -> tuple[int | None, int]:
    """Return the bytes that the group of this process may use, None for any number, and those left."""
    for most, current, cached in _GROUPS:
        limit, used = _text(most).strip(), _text(current).strip()
        if limit.isdecimal() and used.isdecimal():
            stat = _text(most.with_name("memory.stat"))
            files = sum(map(int, re.findall(cached, stat, re.MULTILINE)))  # their memory can be had at once
            return int(limit), max(int(limit) - max(int(used) - files, 0), 0)
    return None, 0


def _text(path: Path) -> str:
    """A file of the system; empty if there is none."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
