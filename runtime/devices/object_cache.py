"""Object code on disk, so that a program compiles once and not in every process.

An entry is a file named by a hash of everything that decides its content. It is written to a temporary name
and renamed, so readers never see half of one, and begins with a checksum, so a damaged one is a miss. A
folder that cannot be written is not an error: the cache only saves time.

The folder is bounded: now and then a process that writes removes what has not been used for the longest time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from staticgraph.runtime import switches

LIMIT = 256 << 20  # bytes in the folder
_DIGEST = 16
_LOOK_EVERY = 16 << 20  # bytes written by this process between two looks at the size of the folder
_DAY = 86_400.0  # seconds: how exactly the time of the last use is kept
# Bytes that may be written until then. Any number at first: processes that write little share the looks.
_to_look = random.randrange(_LOOK_EVERY)


def folder() -> Path | None:
    """`SG_CACHE_DIR`, or a folder of ours in the user's cache folder; None (no cache on disk) if it is set to
    "" or there is no home folder.
    """
    chosen = switches.current("cache_dir")
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "staticgraph" / "kernels"


def read(key: str) -> bytes | None:
    """The object stored under `key`, or None."""
    where = folder()
    if where is None:
        return None
    path = where / key
    try:
        entry = path.read_bytes()
    except OSError:
        return None
    checksum, data = entry[:_DIGEST], entry[_DIGEST:]
    if not data or _checksum(key, data) != checksum:
        return None
    with contextlib.suppress(OSError):
        if path.stat().st_mtime < time.time() - _DAY:
            os.utime(path)
    return data


def write(key: str, data: bytes) -> None:
    """Store an object under `key`, if possible."""
    where = folder()
    if where is None:
        return
    temporary = None
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=where, prefix=".new-")
        with os.fdopen(handle, "wb") as file:
            file.write(_checksum(key, data) + data)
        os.replace(temporary, where / key)
        _look(where, len(data))
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _look(where: Path, written: int) -> None:
    """See to it that the folder stays within the limit, from time to time."""
    global _to_look
    _to_look -= written
    if _to_look < 0:
        _to_look = _LOOK_EVERY
        prune(where, LIMIT)


def prune(where: Path, limit: int) -> None:
    """Remove entries, those that were used last the longest time ago, until three quarters of `limit` bytes
    are left; nothing if there are fewer than `limit`.
    """
    entries = []
    for entry in os.scandir(where):
        with contextlib.suppress(OSError):  # another process may have removed it
            about = entry.stat()
            entries.append((about.st_mtime, about.st_size, entry.path))
    size = sum(size for _, size, _ in entries)
    if size <= limit:
        return
    for _, length, path in sorted(entries):
        if size <= limit * 3 // 4:
            break
        with contextlib.suppress(OSError):
            os.unlink(path)
        size -= length


def _checksum(key: str, data: bytes) -> bytes:
    """Of an entry under its own name: one that was moved to another is damaged too."""
    return hashlib.blake2b(f"{key}\n".encode() + data, digest_size=_DIGEST).digest()
