"""Narrow ends of panels: several rows share a vector, which a few columns would leave mostly empty.

A hundred columns are six vectors of 16 and four columns more. In a vector of their own, these would cost as
much as 16. So four rows do theirs together:

    lanes of the sums      row 0: c0 c1 c2 c3   row 1: c0 c1 c2 c3   row 2: ...
    an element of a        a0    a0 a0 a0 a0          a1 a1 a1 a1         a2 ...
    the panel row of b     b0    b1 b2 b3       b0    b1 b2 b3       b0   ...

To blend elements of a costs less than the multiply-adds that it saves. Each lane adds the same products in
the same order as ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from staticgraph.compiler.codegen.gemm.tiles import TilePiece
from staticgraph.compiler.codegen.gemm.writer import GemmWriter
from staticgraph.compiler.codegen.llvm.text import memory_type, vector
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.support.dataclass import dataclass

ZERO = "zeroinitializer"


@dataclass(frozen=True, slots=True)
class PanelSlot:
    """An accumulator: one vector of sums, of these rows and this piece of the panel."""

    rows: range
    j: int
    width: int  # lanes of each row
    lanes: int  # of all rows, and as many more as make a power of two


@functools.lru_cache(256)
def slots(rows: int, pieces: tuple[TilePiece, ...], lanes: int) -> tuple[PanelSlot, ...]:
    """The accumulators of a tile. With `lanes`, rows share vectors of so many; with 0 none do.

    >>> [(slot.rows, slot.lanes) for slot in slots(3, (TilePiece(0, 4, 4),), 8)]
    [(range(0, 2), 8), (range(2, 3), 4)]
    """
    found = []
    for i in range(rows):
        for j, piece in enumerate(pieces):
            share = max(1, lanes // piece.width)
            if i % share == 0:
                some = range(i, min(i + share, rows))
                whole = piece.width << (len(some) - 1).bit_length()
                found.append(PanelSlot(some, j, piece.width, whole))
    return tuple(found)


def together(w: GemmWriter, slot: PanelSlot, dtype: DType, value: Callable[[int], str]) -> str:
    """A vector of the slot: `value(row)` in the lanes of each row, where it has that many lanes already."""
    kind, found = vector(memory_type(dtype), slot.lanes), value(slot.rows[0])
    for n, row in enumerate(slot.rows[1:], 1):
        mask = ", ".join(f"i1 {'true' if lane // slot.width == n else 'false'}" for lane in range(slot.lanes))
        chosen = f"<{slot.lanes} x i1> <{mask}>"
        found = w.value(f"select {chosen}, {kind} {value(row)}, {kind} {found}")
    return found


def repeated(w: GemmWriter, slot: PanelSlot, dtype: DType, value: str) -> str:
    """A vector of the slot with the lanes of `value` for each row."""
    if len(slot.rows) == 1 or value == ZERO:
        return value
    if slot.width == 1:
        return w.spread(value, memory_type(dtype), slot.lanes)
    return w.shuffled(value, dtype, slot.width, [lane % slot.width for lane in range(slot.lanes)])


def apart(w: GemmWriter, slot: PanelSlot, dtype: DType, value: str) -> list[str]:
    """The vectors of each row of a slot."""
    if len(slot.rows) == 1:
        return [value]
    starts = range(0, slot.width * len(slot.rows), slot.width)
    return [w.lanes(value, dtype, slot.lanes, start, slot.width) for start in starts]
