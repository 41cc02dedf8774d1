"""Scans as rows of items: which item is where, and how two are combined."""

from __future__ import annotations

import math
from collections.abc import Mapping

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr, Index, substitute
from staticgraph.compiler.kernel.form import Scan
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.schedule_gpu.function import Scratch
from staticgraph.compiler.kernel.schedule_gpu.strides import split
from staticgraph.compiler.kernel.stmt import Buffer
from staticgraph.compiler.support.dataclass import dataclass

PARTIAL = "scan_partial"  # scratch: what the items of each part of a row give together


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A scan whose items are numbered in its own order: number `k` of `row`. `parts` of a row, each of
    `length` items, are done side by side.
    """

    scan: Scan
    buffers: Mapping[str, Buffer]
    parts: int = 1
    length: int = 0

    @property
    def row(self) -> Index:
        """The number of a row."""
        return Index("row", self.scan.rows)

    @property
    def k(self) -> Index:
        """The number of an item."""
        return Index("k", self.scan.length)

    @property
    def dtype(self) -> DType:
        return self.scan.item.dtype

    @property
    def inner(self) -> int:
        """Distance in memory between neighbouring items of a row, in elements."""
        return math.prod(i.extent for i in self.scan.at[self.scan.axis + 1 :])

    @property
    def all_buffers(self) -> dict[str, Buffer]:
        """The buffers, and what the parts give."""
        return {**self.buffers, PARTIAL: Buffer(self.dtype, (self.scan.rows * self.parts,), True)}

    @property
    def scratch(self) -> Scratch:
        """The memory for what the parts give."""
        return ((PARTIAL, self.scan.rows * self.parts * self.dtype.size),) if self.parts > 1 else ()

    def item(self) -> Expr:
        """Return the value that item number `k` contributes to the scan."""
        scan = self.scan
        if scan.first is None:
            return self.at(scan.item, self.k)
        before = self.at(scan.item, scalar.maximum(self.k - 1, 0))
        return scalar.select(scalar.eq(self.k, 0), scan.first, before)

    def result(self) -> tuple[Expr, ...]:
        """The position of total number `k`."""
        return tuple(self.at(i, self.k) for i in self.scan.at)

    def at(self, expr: Expr, k: Expr) -> Expr:
        """An expression of the scan's position, for number `k` of the row."""
        scan = self.scan
        outer = [i.extent for i in scan.at[: scan.axis]]
        inner = [i.extent for i in scan.at[scan.axis + 1 :]]
        along = (scan.length - 1) - k if scan.reverse else k
        places = [*split(self.row // self.inner, outer), along, *split(self.row % self.inner, inner)]
        return simplify_index(substitute(expr, dict(zip(scan.at, map(simplify_index, places), strict=True))))
