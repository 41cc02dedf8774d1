"""A product of matrices as the GPU's own library, cuBLAS, is asked for it."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import AnySize, evaluate, is_open
from staticgraph.compiler.support.dataclass import dataclass


class Precision(Enum):
    """Bits of float32 operands that a product may use. Sums are float32 whatever these are."""

    FLOAT32 = "float32"  # all
    TF32 = "tf32"  # those of a mantissa of 10 bits
    BFLOAT16 = "bfloat16"  # those of a mantissa of 7 bits


@dataclass(frozen=True, slots=True)
class Matrix:
    """A matrix of a batch, in a buffer by name: row-major, or column-major where it is `transposed`.

    The first begins `offset` elements after the start of the buffer, the next each `batch_stride` further;
    rows (columns, where transposed) are `stride` elements apart. `steps` are like `batch_stride`, along
    further axes of the batch.
    """

    buffer: str
    stride: int
    transposed: bool = False
    offset: int = 0
    batch_stride: int = 0
    steps: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Product:
    """`out[b] = alpha * (a[b] @ b[b]) (+ out[b] if accumulate)` for each of `batch`: m x k by k x n, of one
    dtype.

    `out` is never transposed. `alpha` is 1 for float16 and bfloat16, whose sums are float32, and are rounded
    once. `axes`: the extents of further axes of the batch, outside of `batch`. Where there are any, the
    buffer `pointers` has the address of every matrix: those of a, then b, then out.
    """

    dtype: DType
    m: AnySize
    n: AnySize
    k: AnySize
    batch: AnySize
    a: Matrix
    b: Matrix
    out: Matrix
    accumulate: bool = False
    alpha: float = 1.0
    precision: Precision = Precision.FLOAT32
    axes: tuple[AnySize, ...] = ()
    pointers: str = ""

    def at(self, values: Mapping[str, int]) -> Product:
        """The same product for values of the open sizes."""
        if not is_open(sizes := (self.m, self.n, self.k, self.batch, *self.axes)):
            return self
        m, n, k, batch, *axes = (evaluate(n, values) for n in sizes)
        return replace(self, m=m, n=n, k=k, batch=batch, axes=tuple(axes))

    @property
    def is_empty(self) -> bool:
        """True if it has no results, or these are sums of nothing."""
        return 0 in (self.m, self.n, self.k, self.count)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The buffers of its operands: a, b, out; and that of the pointers, if it has one."""
        operands = (self.a.buffer, self.b.buffer, self.out.buffer)
        return (*operands, self.pointers) if self.pointers else operands

    @property
    def count(self) -> AnySize:
        """Matrices of the batch."""
        return self.batch * math.prod(self.axes)

    @property
    def points(self) -> list[tuple[int, ...]]:
        """The places in the batch, in order: along each of `axes`, then along `batch`."""
        return list(itertools.product(*map(range, (*self.axes, self.batch))))

    def starts(self, matrix: Matrix) -> list[int]:
        """Return the offset in its buffer of the matrix of each point of the batch, in elements."""
        steps = (*matrix.steps, matrix.batch_stride)
        return [
            matrix.offset + sum(step * at for step, at in zip(steps, point, strict=True))
            for point in self.points
        ]

    @property
    def name(self) -> str:
        """A name that equal products have in common, and no others."""
        return f"cublas_{hashlib.sha256(repr(self).encode()).hexdigest()[:10]}"

    @property
    def text(self) -> str:
        """Readable description of the computation."""
        a, b = (f"{m.buffer}{'ᵀ' if m.transposed else ''}" for m in (self.a, self.b))
        gets = "+=" if self.accumulate else "="
        factor = "" if self.alpha == 1.0 else f"{self.alpha:g} * "
        counts = [str(n) for n in (*self.axes, self.batch) if n > 1]
        more = f"\nfor each of {' × '.join(counts)}" if counts else ""
        rounded = "" if self.precision is Precision.FLOAT32 else f" of {self.precision.value}"
        product = f"{a}[{self.m}, {self.k}] @ {b}[{self.k}, {self.n}]"
        made = f"{self.out.buffer}[{self.m}, {self.n}] {gets} {factor}{product}"
        return f"cuBLAS, {self.dtype}{rounded}:\n{made}{more}\n"
