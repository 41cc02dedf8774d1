"""The version of the compiler, as far as what it makes is kept on a disk: a hash of its sources.

To read them all takes longer than much of what is kept. So the hash is kept as well, under the sizes and
times of the files: a file that is written to gets a new time of change, whatever else is done to it.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

from staticgraph import compiler
from staticgraph.compiler import LOADED
from staticgraph.runtime.disk import object_cache

_FOLDER = Path(compiler.__file__).parent
_READ = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@functools.cache
def compiler_version() -> str | None:
    """A hash of all that decides what is generated: any change of it makes another version.

    None if there are no sources, as in an archive, and where they are newer than what this process has
    loaded: while somebody works on them nothing is kept.
    """
    try:
        files = _files(str(_FOLDER))
        if not files or max([about.st_mtime for _, about in files]) >= LOADED:
            return None
        key = _key(files)
        known = object_cache.read(key)
        if known is not None:
            return known.decode()
        version = _hash([path for path, _ in files])
    except (OSError, _Newer):
        return None
    object_cache.write(key, version.encode())
    return version


class _Newer(Exception):
    """A source was changed since this process began."""


def _files(folder: str) -> list[tuple[str, os.stat_result]]:
    """The sources in a folder and those inside it, always in the same order."""
    found = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=attrgetter("name")):
            if entry.name.endswith((".py", ".cuh")):
                found.append((entry.path, entry.stat()))
            elif entry.name != "__pycache__" and entry.is_dir():
                found += _files(entry.path)
    return found


def _key(files: Sequence[tuple[str, os.stat_result]]) -> str:
    told = [(path, about.st_size, about.st_mtime_ns, about.st_ctime_ns) for path, about in files]
    return hashlib.blake2b(repr(("sources", told)).encode(), digest_size=16).hexdigest()


def _hash(paths: Sequence[str]) -> str:
    found = hashlib.blake2b(digest_size=16)
    for path in paths:
        text = _text(path)
        found.update(f"{path.rpartition(os.sep)[2]} {len(text)}\n".encode() + text)
    return found.hexdigest()


def _text(path: str) -> bytes:
    descriptor = os.open(path, _READ)  # there are many files: `open` would look at each of them twice
    try:
        about = os.fstat(descriptor)
        if about.st_mtime >= LOADED:
            raise _Newer(path)
        return os.read(descriptor, about.st_size)
    finally:
        os.close(descriptor)
