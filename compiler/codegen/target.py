"""Properties of a processor that a code generator needs.

This is pure data: no compiler library is asked.
"""

from __future__ import annotations

from collections.abc import Iterable

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CpuTarget:
    """A processor: the names that LLVM gives it, and the width of its vector registers.

    `fast_math` chooses shorter forms of some functions, with a larger error (`kernel/approximate`).
    `tuned`: what the code is like may be left to a measurement on this processor.
    `aligned`: whether buffers begin at multiples of `ALIGNMENT`, so that code may rely on it.

    >>> from staticgraph.compiler.graph.dtypes import float32, float64
    >>> target = CpuTarget("x86_64-unknown-linux-gnu", "", "znver4", "+avx2,+avx512f", 64)
    >>> target.lanes([float32]), target.lanes([float32, float64])
    (16, 8)
    """

    triple: str
    data_layout: str
    cpu: str
    features: str  # as LLVM writes them: "+avx2,-sha"
    vector_bytes: int
    fast_math: bool = False
    aligned: bool = True
    tuned: bool = False

    @property
    def table(self) -> int:
        """Number of float32 elements that one lookup instruction selects from, with an index for each lane.

        It is 0 if there is no such instruction.
        """
        width = min(self.vector_bytes, vector_bytes(self.features))
        return width // 4 if width >= 32 else 0

    @property
    def registers(self) -> int:
        """Number of vector registers."""
        return 32 if self.vector_bytes == 64 or self.triple.startswith(("aarch64", "arm64")) else 16

    @property
    def calls_for_half(self) -> bool:
        """True if compiled code for this processor may call functions that convert float16."""
        return "+f16c" not in self.features.split(",") and not self.triple.startswith(("aarch64", "arm64"))

    def lanes(self, dtypes: Iterable[DType]) -> int:
        """Number of loop iterations in one vector: the widest of the dtypes fills a register.

        `dtypes` are those of the values that the loop computes, loads and stores, without its index
        arithmetic and its truth values (which ride along in mask registers). The 16-bit floating types are
        computed in float32.
        """
        return self.vector_bytes // max((register_bytes(d) for d in dtypes), default=4)


def register_bytes(dtype: DType) -> int:
    """The size of a value of this dtype while it is being computed with."""
    return 4 if dtype.is_floating and dtype.size == 2 else dtype.size


def vector_bytes(features: str) -> int:
    """The width of the vector registers behind LLVM's feature
    list; 16 (SSE, NEON) where nothing wider is named.
    """
    present = set(features.split(","))
    if "+avx512f" in present:
        return 64
    return 32 if "+avx2" in present else 16
