"""The code of kernels on disk, so that a program is not only compiled but also generated once.

An entry is found by what the kernel says, the processor, and the version of the compiler.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import asdict
from typing import TYPE_CHECKING

from staticgraph.compiler.codegen.abi import KernelCode, Phase
from staticgraph.compiler.codegen.llvm.text import Code
from staticgraph.compiler.graph.size_data import of_data, to_data
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
        return from_bytes(data) if data is not None else None

    def write(self, digest: str, code: KernelCode) -> None:
        """Keep what was generated, if possible."""
        key = _key(digest)
        if key is not None:
            object_cache.write(key, to_bytes(code))

    def best(self, product: Contraction, target: CpuTarget) -> Choice:
        """Return the fastest way of computing a product.

        It is measured now, unless it was measured before.
        """
        from staticgraph.runtime.cpu.autotune import best  # what few programs ask for

        return best(product, target)


def to_bytes(kernel: KernelCode) -> bytes:
    """`kernel` as `from_bytes` reads it: about a twentieth of its text."""
    fields = asdict(kernel) | {"sizes": [to_data(size) for size in kernel.sizes]}
    return zlib.compress(json.dumps(fields).encode(), 1)


def from_bytes(data: bytes) -> KernelCode:
    """The kernel that `to_bytes` was given.

    >>> code = Code("k1", "define void @k1() { ret void }", ("declare void @f()",))
    >>> kernel = KernelCode((Phase(code, 3, (0,)), Phase(code)), shared_bytes=64, cost=1.5)
    >>> from_bytes(to_bytes(kernel)) == kernel
    True
    """
    fields = json.loads(zlib.decompress(data))
    phases = tuple(_phase(**phase) for phase in fields.pop("phases"))
    sizes = tuple(of_data(size) for size in fields.pop("sizes"))
    return KernelCode(phases, **fields, sizes=sizes)


def _phase(code: dict[str, str], chunks: int, reads: list[int] | None, first: int) -> Phase:
    made = Code(code["name"], code["text"], tuple(code["needs"]))
    return Phase(made, chunks, None if reads is None else tuple(reads), first)


def _key(digest: str) -> str | None:
    version = compiler_version() if object_cache.folder() is not None else None
    return version and hashlib.blake2b(f"{version} {digest}".encode(), digest_size=16).hexdigest()


KEPT = Generated()
