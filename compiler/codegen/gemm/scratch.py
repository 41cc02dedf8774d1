"""Layout of packed operands and unfinished sums of a contraction in scratch memory.

Operands that all chunks of a launch read lie in shared memory, in full. Operands that a chunk packs for
itself lie in private memory, one block at a time.
"""

from __future__ import annotations

import math

from staticgraph.compiler.codegen.gemm.tiles import PanelRun, pitch
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import AnySize, Undecided
from staticgraph.compiler.kernel.contraction import Access, Contraction, closed, count
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Packed:
    """An operand in packed form: panels, of each so many steps of the sum,
    and of each step `pitch` neighbouring elements.
    """

    dtype: DType
    panels: tuple[PanelRun, ...]  # of columns; of rows for operand a
    extent: AnySize  # of all panels
    depth: int
    numbers: tuple[int, ...]  # steps from one value of each index of the sum to the next
    lane: AnySize  # elements between those of a step, in memory
    turned: bool  # squares are turned around, because memory runs along the sum
    shared: Access | None  # all panels lie in shared memory before the chunks begin; None: in private memory
    offset: int  # bytes of private memory

    @property
    def pitch(self) -> int:
        """Elements from one step of the sum to the next."""
        return pitch(self.panels)

    @property
    def count(self) -> int:
        """Number of panels."""
        return sum(p.count for p in self.panels)

    @property
    def elements(self) -> int:
        """Elements from one panel to the next."""
        return self.depth * self.pitch


@dataclass(slots=True)
class Scratch:
    """The bytes of scratch memory that are taken so far."""

    shared: int
    private: int = 0

    def packed(
        self,
        c: Contraction,
        operand: Access,
        lanes: Index | None,
        runs: tuple[PanelRun, ...],
        block: tuple[Index, ...] | None,
        depth: int,
    ) -> Packed:
        """An operand in packed form: blocks of `depth` products,
        along the indices `block`; or all of it, where that is None.
        """
        unknown = (*c.open_outer, *((c.lanes,) if c.open_columns else ()))
        if block is None and (c.open_sum or any(map(operand.step, unknown))):
            raise Undecided(f"scratch memory for all of an operand of {c.sizes[0]!r} rows", sizes=c.sizes)
        step, extent = operand.stride(lanes), 1 if lanes is None else lanes.extent
        turned = operand.step(c.k[-1] if c.k else None) == 1 and isinstance(step, int) and step != 1
        if block is not None:
            return Packed(c.dtype, runs, extent, depth, numbers(block), step, turned, None, self.private)
        steps = {index: n * pitch(runs) for index, n in zip(c.k, numbers(c.k), strict=True)}
        elements = c.depth * pitch(runs) * sum(r.count for r in runs)
        for index in reversed([i for i in c.outer if operand.step(i)]):
            steps[index] = elements
            elements *= closed(index)
        place = Access("", c.dtype, self.shared // c.dtype.size, steps)
        return Packed(c.dtype, runs, extent, c.depth, numbers(c.k), step, turned, place, 0)

    def reserve(self, packed: Packed, outer: tuple[Index, ...], panels: int) -> None:
        """Take the memory of an operand: of so many panels, or of all of them for all outer indices."""
        if packed.shared is None:
            self.private += aligned(packed.elements * panels * packed.dtype.size)
        else:
            panels = packed.count * math.prod(map(closed, outer))
            self.shared += aligned(packed.elements * panels * packed.dtype.size)

    def results(
        self, c: Contraction, outer: tuple[Index, ...], columns: int, rows: int | None = None
    ) -> Access:
        """Shared memory for an element per position, in rows of `columns` elements.

        There are at most `rows`, if their number is open.
        """
        steps, inside = {c.lanes: 1}, columns
        indices = ((c.rows,) if c.rows else ()) + outer[::-1]
        for index in indices:
            steps[index] = inside
            inside *= closed(index) if rows is None or index is not c.rows else rows
        place = Access("", c.dtype, self.shared // c.dtype.size, steps)
        self.shared += aligned(inside * c.dtype.size)
        return place


def overlaps(c: Contraction, operand: Access, index: Index | None) -> bool:
    """True if elements would be packed more than once, for example in the windows of a convolution."""
    indices = (i for i in (*c.outer, *c.k, *((index,) if index else ())) if operand.step(i))
    return math.prod(map(count, indices)) > c.size(operand)


def numbers(indices: tuple[Index, ...]) -> tuple[int, ...]:
    """Return the number of steps from one value of each index to the next; the last index is the fastest."""
    found, inside = [], 1
    for index in reversed(indices):
        found.append(inside)
        inside *= count(index)
    return tuple(reversed(found))


def aligned(size: int) -> int:
    """The next multiple of a cache line."""
    return -(-size // 64) * 64
