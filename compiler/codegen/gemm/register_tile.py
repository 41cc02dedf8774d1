"""Descriptions of micro-kernels: the tile of a result that each computes, the strides of what it reads, and
the memory that it asks for before it is read, so that multiply-adds need not wait for it.

Processors guess what comes next along neighbouring lines and inside of a page. For what lies elsewhere a
micro-kernel asks itself, for its own end or for the micro-kernels after it: a little in every round of its
loop, because a processor can only wait for so many lines at a time.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.gemm.pack_narrow_panels import PanelSlot, slots
from staticgraph.compiler.codegen.gemm.tiles import VALID, TilePiece
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.llvm.text import memory_type, vector
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.support.dataclass import dataclass

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
    elements may have been prefetched already. If it is the `last` tile, there is one at most, of few rows.
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
    last: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """Of the function: operands, further pointers, how many lanes exist and extents if they are known at
        the call; partial sums, first and last block.
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
