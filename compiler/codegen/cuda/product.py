"""A product of matrices as the GPU's own library, cuBLAS, is asked for it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum

from staticgraph.compiler.graph.dtypes import DType


class Precision(Enum):
    """Which bits of float32 operands a product may use. Sums are float32 whatever these are."""

    FLOAT32 = "float32"  # all
    TF32 = "tf32"  # those of a mantissa of 10 bits
    BFLOAT16 = "bfloat16"  # those of a mantissa of 7 bits


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of a batch, in a buffer by name: row-major, or column-major where it is `transposed`.

    The first begins `offset` elements after the start of the buffer, the next each `batch_stride` further;
    rows (columns, where transposed) are `stride` elements apart.
    """

    buffer: str
    stride: int
    transposed: bool = False
    offset: int = 0
    batch_stride: int = 0


@dataclass(frozen=True, slots=True)
class Product:
    """`out[b] = alpha * (a[b] @ b[b]) (+ out[b] if accumulate)` for each of `batch`: m x k by k x n, of one
    dtype.

    `out` is never transposed. `alpha` is 1 for float16 and bfloat16, whose sums are float32, and are rounded
    once.
    """

    dtype: DType
    m: int
    n: int
    k: int
    batch: int
    a: Matrix
    b: Matrix
    out: Matrix
    accumulate: bool = False
    alpha: float = 1.0
    precision: Precision = Precision.FLOAT32

    @property
    def arguments(self) -> tuple[str, ...]:
        """The buffers of its operands: a, b, out."""
        return self.a.buffer, self.b.buffer, self.out.buffer

    @property
    def name(self) -> str:
        """A name that equal products have in common, and no others."""
        return f"cublas_{hashlib.sha256(repr(self).encode()).hexdigest()[:10]}"

    @property
    def text(self) -> str:
        """What it computes, to be read."""
        a, b = (f"{m.buffer}{'ᵀ' if m.transposed else ''}" for m in (self.a, self.b))
        gets = "+=" if self.accumulate else "="
        factor = "" if self.alpha == 1.0 else f"{self.alpha:g} * "
        more = f"\nfor each of {self.batch}" if self.batch > 1 else ""
        rounded = "" if self.precision is Precision.FLOAT32 else f" of {self.precision.value}"
        product = f"{a}[{self.m}, {self.k}] @ {b}[{self.k}, {self.n}]"
        made = f"{self.out.buffer}[{self.m}, {self.n}] {gets} {factor}{product}"
        return f"cuBLAS, {self.dtype}{rounded}:\n{made}{more}\n"
