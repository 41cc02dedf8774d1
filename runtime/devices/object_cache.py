"""Object code on disk, so that a program compiles once and not in every process.

An entry is a file named by a hash of everything that decides its content. It is written to a temporary name
and renamed, so readers never see half of one, and begins with a checksum, so a damaged one is a miss. A
folder that cannot be written is not an error: the cache only saves time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
from pathlib import Path

_DIGEST = 16


def folder() -> Path | None:
    """`SG_CACHE_DIR`, or a folder of ours in the user's cache folder; None (no cache on disk) if it is set to
    "" or there is no home folder.
    """
    chosen = os.environ.get("SG_CACHE_DIR")
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
    try:
        entry = (where / key).read_bytes()
    except OSError:
        return None
    checksum, data = entry[:_DIGEST], entry[_DIGEST:]
    return data if data and _checksum(data) == checksum else None


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
            file.write(_checksum(data) + data)
        os.replace(temporary, where / key)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()
