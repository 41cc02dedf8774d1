"""The code of kernels on disk, so that a program is not only compiled but also generated once.

An entry is found by what the kernel says, the processor, and the version of the compiler.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from staticgraph.compiler.codegen.abi import KernelCode
from staticgraph.runtime.disk import object_cache
from staticgraph.runtime.disk.sources import compiler_version

if TYPE_CHECKING:
    from staticgraph.compiler.codegen.gemm.choice import Choice
    from staticgraph.compiler.codegen.target import CpuTarget
    from staticgraph.compiler.kernel.contraction import Contraction


class Generated:
    """Code by the digest of what it was generated from.

    >>> Generated().read("no such digest") is None
    True
    """

    def read(self, digest: str) -> KernelCode | None:
        """The code that was generated from this, by this generator."""
        key = _key(digest)
        data = object_cache.read(key) if key is not None else None
        if data is None:
            return None
        from staticgraph.compiler.codegen.record import from_bytes  # only with a cache on disk

        return from_bytes(data)

    def write(self, digest: str, code: KernelCode) -> None:
        """Keep what was generated, if possible."""
        key = _key(digest)
        if key is not None:
            from staticgraph.compiler.codegen.record import to_bytes  # only with a cache on disk

            object_cache.write_later(key, partial(to_bytes, code))

    def best(self, product: Contraction, target: CpuTarget) -> Choice:
        """Return the fastest way of computing a product.

        It is measured now, unless it was measured before.
        """
        from staticgraph.runtime.cpu.measurements.autotune import best  # what few programs ask for

        return best(product, target)


def _key(digest: str) -> str | None:
    version = compiler_version() if object_cache.folder() is not None else None
    return version and hashlib.blake2b(f"{version} {digest}".encode(), digest_size=16).hexdigest()


KEPT = Generated()
