"""The version of the compiler, as far as what it makes is kept on a disk: a hash of its sources."""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

from staticgraph import compiler
from staticgraph.compiler import LOADED

_FOLDER = Path(compiler.__file__).parent


@functools.cache
def compiler_version() -> str | None:
    """A hash of all that decides what is generated: any change of it makes another version.

    None where there are no sources, as in an archive, and where they are newer than what this process has
    loaded: while somebody works on them nothing is kept.
    """
    found, count = hashlib.blake2b(digest_size=16), 0
    try:
        for folder, folders, files in os.walk(_FOLDER, onerror=_refuse):
            folders.sort()
            for name in sorted(files):
                if name.endswith(".py"):
                    text = _text(os.path.join(folder, name))
                    found.update(f"{name} {len(text)}\n".encode() + text)
                    count += 1
    except (OSError, _Newer):
        return None
    return found.hexdigest() if count else None


class _Newer(Exception):
    """A source was changed since this process began."""


def _text(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_mtime >= LOADED:
            raise _Newer(path)
        return file.read()


def _refuse(error: OSError) -> None:
    raise error
