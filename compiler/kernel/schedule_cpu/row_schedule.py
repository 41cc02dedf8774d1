"""Kernels of rows: several nests of loops done for one row, then for the next, and sums over all rows.

Column sums of what the rows make anyway, y = exp(x) here, are taken on the way:

    for i in 0..100:
      for j in 0..6:
        y[i, j] = exp(x[i, j])
      for j in 0..6:
        sums[j] += y[i, j]

Rows come in blocks that are independent of each other, each with sums of its own, which are added up at last:

    shared part0: float32[5, 6]
    for block in 0..5:
      for c0 in 0..6:
        part0[block, c0] = 0.0
      for row in 0..20:
        ...
        for c0 in 0..6:
          part0[block, c0] = part0[block, c0] + y[block * 20 + row, c0]
    for c0 in 0..6:
      acc0: float32 = 0.0
      for k0 in 0..5:
        acc0 += part0[k0, c0]
      sums[c0] = acc0

Reading memory row by row is also the fastest way to the sums of wide columns, if nothing else is to be done.

If the number of rows is open, so is that of blocks, and each does its share of the rows:

    for block in 0..min(max(rows // 16, 1), 64):
      for i in 0..rows part block of min(max(rows // 16, 1), 64):
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import MOST, AnySize, Size, at_most, bounds, estimate, positive, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import (
    Expr,
    Index,
    Load,
    Reduce,
    free_indices,
    identity,
    outermost_reductions,
    substitute,
)
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.lower_expressions import Nest, Placer
from staticgraph.compiler.kernel.scalar import read
from staticgraph.compiler.kernel.stmt import ALIGNMENT, Buffer, If, Kernel, Loop, Share, Stmt, Store, rewrite
from staticgraph.compiler.support.dataclass import dataclass, replace

MOST_BLOCKS = 64  # of rows with sums of columns: each has partial sums, which are added in the end
LEAST_ROWS = 16  # of a block with sums of columns: with fewer, to begin and to end it would take too long


def place_rows(
    name: str,
    buffers: dict[str, Buffer],
    rows: tuple[Index, ...],
    nests: Sequence[Nest],
    sums: Sequence[Nest] = (),
) -> Kernel:
    """The kernel that performs `nests` one after the other for each point of `rows`, then `sums`.

    The domains of the nests begin with `rows`; what one of them stores in a row, those after it may read
    there. The first axes of each reduction in `sums` are the rows, of which there must be several then; it
    may read what the nests store in them.
    """
    placer = Placer()
    around = tuple(i for i in rows if not same(i.extent, 1))
    if not sums:
        return Kernel(name, buffers, _looped(around, [s for n in nests for s in placer.nest(n, around)]))
    first, *others = around
    if isinstance(first.extent, Size):
        least = max(1, LEAST_ROWS // math.prod(estimate(i.extent) for i in others))
        blocks = at_most(positive(first.extent // least), MOST_BLOCKS)
        block = Index("block", blocks)
    else:
        columns = max(math.prod(i.extent for i in nest.domain) for nest in sums)
        least = LEAST_ROWS if columns > 1 else 1
        long = _block_rows(first.extent, math.prod(estimate(i.extent) for i in rows) // least)
        block, row = Index("block", -(-first.extent // long)), Index("row", long)
    parts = _Parts(rows, block, dict(buffers))
    finals = [parts.of(nest) for nest in sums]
    inside = [s for n in (*nests, *parts.steps) for s in placer.nest(n, (block, *around))]
    loops = _looped(others, inside)
    if isinstance(first.extent, Size):
        loops = (Loop(first, loops, share=Share(block, blocks)),)
    else:
        place: dict[Expr, Expr] = {first: block * row.extent + row}
        at = rewrite(loops, lambda e: simplify_index(substitute(e, place)))
        if first.extent % long:
            at = (If(scalar.lt(place[first], first.extent), at),)
        loops = _looped((row,), at)
    starts = [s for n in parts.starts for s in placer.nest(n, (block,))]
    body = _looped((block,), [*starts, *loops])
    return Kernel(name, parts.buffers, (*body, *(s for nest in finals for s in placer.nest(nest))))


def _looped(loops: Sequence[Index], body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    inside = tuple(body)
    for index in reversed(loops):
        inside = (Loop(index, inside),) if not same(index.extent, 1) else inside
    return inside


def _block_rows(extent: int, most: int) -> int:
    """Return the iterations per block of a loop of `extent` iterations, for at most `most` blocks.

    Blocks are equal if that leaves more than half as many of them. Otherwise the last block is shorter.

    >>> _block_rows(4096, 256), _block_rows(100, 6), _block_rows(32, 2048), _block_rows(997, 62)
    (64, 20, 1, 17)
    """
    most = max(1, min(MOST_BLOCKS, extent, most))
    equal = (extent // n for n in range(most, most // 2, -1) if extent % n == 0)
    return next(equal, -(-extent // most))


def _aligned(columns: int, dtype: DType) -> int:
    """Round a number of columns up, so that no vector of a row crosses a cache line.

    Each sum waits for the store of the one before, which takes twice as long across a line.
    """
    unit = min(ALIGNMENT // dtype.size, 1 << (columns - 1).bit_length())
    return -(-columns // unit) * unit


@dataclass(slots=True)
class _Parts:
    """The sums of each block: what begins them, what each row adds, and buffers for them."""

    rows: tuple[Index, ...]
    block: Index
    buffers: dict[str, Buffer]
    names: dict[tuple[Any, ...], str] = field(default_factory=dict)
    starts: list[Nest] = field(default_factory=list)
    steps: list[Nest] = field(default_factory=list)

    def of(self, nest: Nest) -> Nest:
        """`nest` with the sums of blocks in place of its reductions over all rows."""
        own = nest.renamed("c")
        found = (e for s in own.stores for e in outermost_reductions(s.value))
        totals: dict[Expr, Expr] = {e: self.total(e, own.domain) for e in found}
        return Nest(own.domain, tuple(replace(s, value=substitute(s.value, totals)) for s in own.stores))

    def total(self, reduce: Reduce, domain: tuple[Index, ...]) -> Expr:
        """The sum of all parts of a reduction."""
        needed = free_indices(reduce)
        columns = tuple(c for c in domain if c in needed)  # a sum of all is one, whatever it is used for
        axes = reduce.axes[len(self.rows) :]
        each = substitute(reduce.value, dict(zip(reduce.axes, self.rows, strict=False)))
        key = columns, reduce.combine, axes, each  # `each` need not read the axes, as in a count
        if key not in self.names:
            self.names[key] = name = f"part{len(self.names)}"
            sizes = [_most(c.extent) for c in columns]
            if isinstance(self.rows[0].extent, Size) and len(sizes) == 1:
                sizes = [_aligned(sizes[0], reduce.dtype)]
            shape = (bounds(self.block.extent)[1], *sizes)
            self.buffers[name] = Buffer(reduce.dtype, shape, written=True, shared=True)
            at = (self.block, *columns)
            more = Reduce(axes, reduce.combine, each) if axes else each
            more = read(reduce.combine, Load(name, at, reduce.dtype), more)
            start = Store(name, at, identity(reduce.combine, reduce.dtype))
            self.starts.append(Nest(columns, (start,)))
            self.steps.append(Nest((*self.rows, *columns), (Store(name, at, more),)))
        every = Index("b", self.block.extent)
        return Reduce((every,), reduce.combine, Load(self.names[key], (every, *columns), reduce.dtype))


def _most(size: AnySize) -> int:
    """Return the greatest value of a size, for scratch memory. One that has none must be known."""
    most = bounds(size)[1]
    return most if most < MOST else operator.index(size)
