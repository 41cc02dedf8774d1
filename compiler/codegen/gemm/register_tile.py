"""Descriptions of micro-kernels: tiles of a result, vectors of their sums, and what they read and ask for.

A hundred columns are six vectors of 16 and four columns more. In a vector of their own, these would cost as
much as 16. So at the narrow end of a panel, four rows do theirs together:

    lanes of the sums      row 0: c0 c1 c2 c3   row 1: c0 c1 c2 c3   row 2: ...
    an element of a        a0    a0 a0 a0 a0          a1 a1 a1 a1         a2 ...
    the panel row of b     b0    b1 b2 b3       b0    b1 b2 b3       b0   ...

To blend elements of a costs less than the multiply-adds that it saves. Each lane adds the same products in
the same order as ever.

Multiply-adds need not wait for memory that is asked for before it is read. Processors guess what comes next
along neighbouring lines and inside of a page. For what lies elsewhere a micro-kernel asks itself, for its
own end or for the micro-kernels after it: a little in every round of its loop, because a processor can only
wait for so many lines at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from staticgraph.compiler.codegen.gemm.tiles import VALID, TilePiece
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.llvm.text import memory_type, vector
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.stmt import ALIGNMENT
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


Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """Strides of an operand or of the partial sums, in elements.

    There is one for each row, one for each lane, and one for a step of each index of the sum.
    """

    dtype: DType
    row: Number
    lane: Number
    k: tuple[Number, ...] = ()
    padded: bool = False  # whole vectors may be read and written where only some lanes exist


@dataclass(frozen=True, slots=True)
class Later:
    """Rows of neighbouring elements, behind a pointer, that will be read."""

    pointer: str
    dtype: DType
    rows: int
    step: Number  # elements from one row to the next
    columns: int

    def ask(self, w: GemmWriter, row: Number) -> None:
        """Prefetch one of the rows."""
        ask(w, w.address(self.pointer, w.mul(row, self.step), self.dtype), self.columns, self.dtype)


def ask(w: GemmWriter, start: str, columns: int, dtype: DType) -> None:
    """Prefetch neighbouring elements."""
    for column in range(0, columns, ALIGNMENT // dtype.size):
        w.prefetch(w.address(start, column, dtype))


@dataclass(frozen=True, slots=True)
class Tile:
    """Computation of a micro-kernel.

    `extents` are those of the indices of the sum, outermost first; an extent that is None is an argument of
    the call. Along the indices in `inside`, only some rows have products: for each value, those from the
    first to before the last. `partial` is the memory of unfinished sums; None if every call finishes its
    sums. `extra` are further pointers, those of the epilogue first. `later` is prefetched meanwhile,
    arrays of as many rows side by side. `lanes` is the number of lanes of a register. If `packed` is given,
    the elements of b that the tile reads are copied there for the tiles after this one. If `asked`, these
    elements may have been prefetched already. If it is `small`, tiles of more rows do most of the work.
    """

    dtype: DType
    rows: int
    pieces: tuple[TilePiece, ...]
    a: Stream
    b: Stream
    extents: tuple[int | None, ...]
    partial: Stream | None
    extra: tuple[str, ...]
    lanes: int
    inside: tuple[tuple[int, Spans], ...] = ()
    later: tuple[Later, ...] = ()
    packed: Stream | None = None
    asked: bool = False
    small: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """Parameters of the function: operands, further pointers, how many lanes exist and extents if they
        are known at the call; partial sums, first and last block.
        """
        counts = (f"i64 {steps(level)}" for level, extent in enumerate(self.extents) if extent is None)
        blocks = ("ptr %sums", "i1 %first", "i1 %last") if self.partial else ()
        packed = ("ptr noalias %packed",) if self.packed else ()
        pointers = (f"ptr {name}" for name in self.extra)
        valid = (f"i64 {VALID}",) if any(piece.valid == VALID for piece in self.pieces) else ()
        return "ptr noalias %a", "ptr noalias %b", *packed, *pointers, *valid, *counts, *blocks

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Operands that move along with the steps of the sum, and the packed copy of b, if there is one."""
        return self.a, self.b, *((self.packed,) if self.packed else ())

    @property
    def columns(self) -> int:
        """Their number."""
        return self.pieces[-1].stop

    @property
    def places(self) -> list[tuple[int, int]]:
        """Row and number of the piece of each partial sum."""
        return [(i, j) for i in range(self.rows) for j in range(len(self.pieces))]

    @property
    def kinds(self) -> list[str]:
        """The LLVM types of the partial sums."""
        return [vector(memory_type(self.dtype), self.pieces[j].width) for _, j in self.places]

    @property
    def slots(self) -> tuple[PanelSlot, ...]:
        """The accumulators. Rows share some of them where only a moves along the rows, and all rows take
        part in every step.
        """
        shared = not (moves(self.a.lane) or moves(self.b.row) or self.inside)
        return slots(self.rows, self.pieces, self.lanes if shared else 0)


def moves(stride: Number) -> bool:
    """Return True unless a stride is 0. An open one is taken to be another number."""
    return not isinstance(stride, int) or stride != 0


def steps(level: int) -> str:
    """The parameter that holds the extent of an index of the sum."""
    return f"%steps{level}"
