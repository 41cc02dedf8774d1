"""The code of kernels on disk, so that a program is not only compiled but also generated once.

An entry is found by what the kernel says, the processor, and the sources of the generators: any change of
these is another entry. While somebody works on the sources nothing is kept.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from staticgraph.compiler import LOADED, codegen, kernel
from staticgraph.compiler import compile as compile_module
from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.compiler.codegen.record import from_bytes, to_bytes
from staticgraph.compiler.graph import dtypes
from staticgraph.runtime.devices import object_cache

_DECIDING = (kernel, codegen, dtypes, compile_module)  # packages and modules that decide what a text says


class Generated:
    """Code by the digest of what it was generated from.

    >>> Generated().read("no such digest") is None
    True
    """

    def read(self, digest: str) -> KernelCode | None:
        """The code that was generated from this, by this generator."""
        key = _key(digest)
        data = object_cache.read(key) if key is not None else None
        return from_bytes(data) if data is not None else None

    def write(self, digest: str, code: KernelCode) -> None:
        """Keep what was generated, if possible."""
        key = _key(digest)
        if key is not None:
            object_cache.write(key, to_bytes(code))


def _key(digest: str) -> str | None:
    version = generator_version()
    return version and hashlib.blake2b(f"{version} {digest}".encode(), digest_size=16).hexdigest()


@functools.cache
def generator_version() -> str | None:
    """A hash of the sources of the generators.

    None where there are none, as in an archive, and where they are newer than what this process has loaded.
    """
    found = hashlib.blake2b(digest_size=16)
    try:
        for part in _DECIDING:
            path = Path(part.__file__ or "")
            for file in sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]:
                if file.stat().st_mtime >= LOADED:
                    return None
                text = file.read_bytes()
                found.update(f"{file.name} {len(text)}\n".encode() + text)
    except OSError:
        return None
    return found.hexdigest()


KEPT = Generated()
