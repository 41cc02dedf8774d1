"""Packed operands of a contraction: which are copied into the order of micro-kernels, and their scratch
memory.

An operand is packed if it is read often enough, and badly where it lies. Operands that all chunks of a
launch read lie in shared memory, in full, and so do unfinished sums. Operands that a chunk packs for itself
lie in private memory, one block at a time.
"""

from __future__ import annotations

import math

from staticgraph.compiler.codegen.gemm.choice import Choice
from staticgraph.compiler.codegen.gemm.tiles import Along, PanelRun, Tiling, pages_apart, pitch
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import AnySize, Undecided
from staticgraph.compiler.kernel.contraction import Access, Contraction, closed, count
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

# By number of registers: a smaller b is read as it lies, and so is one whose rows are no further
# apart. Where tiles have few rows, they read it so often that all but the nearest cache is too slow.
_PACKED_BYTES, _NEAR_BYTES = {32: 96 * 1024, 16: 32 * 1024}, {32: 512, 16: 0}
# Fewer tiles of rows than this do not pay for packing b. Panels of whole cache lines, of so many bytes, can
# be read more often as they lie, because micro-kernels ask for them ahead of time; not where rows of b are
# whole pages apart and fight for the same places in the cache.
_REUSED, _WIDE_REUSED, _FIGHTING_REUSED, _WIDE_PANEL = 8, 48, 4, 128
_FAR_STEPS = 256  # bytes; a reads a small part of each of many cache lines
SAME_SETS = 2048  # bytes apart, few places in the nearest cache are left
TURNS = 4  # tiles of rows, at least, while which the next panel of b can be asked for
PANELS = 4  # that a packed tile of a is used for, at least


def packed_operands(
    c: Contraction, along: Along, tiling: Tiling, tiles: int, registers: int, choice: Choice, whole: bool
) -> tuple[bool, bool]:
    """Return if a is packed, and if b is.

    Args:
        c: The contraction.
        along: What vectors lie along: only those along the columns read packed operands.
        tiling: The tiles of the result.
        tiles: The number of tiles of rows that read b.
        registers: The number of vector registers.
        choice: What a measurement decided; the rest is decided here.
        whole: True if the sum is not cut though its length is open: packed operands are blocks of it.
    """
    if along is not Along.COLUMNS or whole:
        return False, False
    pack_b = _packs_b(c, tiling, tiles, registers) if choice.pack_b is None else choice.pack_b
    pack_b = pack_b or c.b.step(c.lanes) != 1
    pack_a = tiling.panel_count >= PANELS and _packs_a(c, pack_b) if choice.pack_a is None else choice.pack_a
    return pack_a and _can_pack_a(c), pack_b


def _packs_b(c: Contraction, tiling: Tiling, tiles: int, registers: int) -> bool:
    """True if b must be packed, or should be.

    It must be if it has no unit step along the lanes. It should be if it is used often enough, and is either
    large, with rows far apart, or narrower than the sums.
    """
    large = c.column_count * c.depth * c.dtype.size > _PACKED_BYTES[registers]
    near = bool(c.k) and abs(c.b.step(c.k[-1])) * c.b.dtype.size <= _NEAR_BYTES[registers]
    narrow = c.b.dtype.size < c.dtype.size  # packed, elements are converted once
    fights = bool(c.k) and pages_apart(c.b.step(c.k[-1]), c.b.dtype)
    reused = tiles >= reused_tiles(c, tiling)
    if c.open_sum and registers == 32:
        both = all(x.step(c.k[-1]) * x.dtype.size % SAME_SETS == 0 for x in (c.a, c.b))
        return c.b.step(c.lanes) != 1 or fights or both
    return c.b.step(c.lanes) != 1 or (reused and (narrow or (large and not near)))


def reused_tiles(c: Contraction, tiling: Tiling) -> int:
    """The number of tiles of rows for which it pays to pack b."""
    wide = c.b.dtype.size == c.dtype.size and tiling.pitch * c.dtype.size >= _WIDE_PANEL
    fights = bool(c.k) and pages_apart(c.b.step(c.k[-1]), c.b.dtype)
    return _REUSED if not wide else _FIGHTING_REUSED if fights else _WIDE_REUSED


def is_far(c: Contraction, tiles: int) -> bool:
    """True if a packed b comes from memory, and can be prefetched while the panel before it is multiplied."""
    far = c.size(c.b) * c.b.dtype.size >= CPU.near_bytes
    walked = (
        len(c.k) == 1
        and not c.limits
        and (c.open is None or _opens_outermost(c))
        and not c.open_columns
        and 1 in (c.b.step(c.lanes), c.b.step(c.k[-1]))
    )
    return far and walked and tiles >= TURNS


def _opens_outermost(c: Contraction) -> bool:
    """True if only the outermost one of the indices that go through b again is open."""
    return c.open_outer == tuple(i for i in (*c.other_outer[:1], c.rows) if i is not None)[:1]


def _packs_a(c: Contraction, pack_b: bool) -> bool:
    """True if a should be packed.

    Packing pays if the tiles of a are spread over many cache lines. It also pays if a has a narrower dtype
    than the sums, since its elements are then converted only once.
    """
    narrow = c.a.dtype.size < c.dtype.size and 1 in (c.a.step(c.rows), c.a.step(c.k[-1] if c.k else None))
    if c.open_sum and not narrow:
        step = c.a.step(c.k[-1]) * c.a.dtype.size
        return _can_pack_a(c) and rows_share_lines(c) and step % SAME_SETS == 0 and not pack_b
    return _can_pack_a(c) and (rows_share_lines(c) or narrow)


def _can_pack_a(c: Contraction) -> bool:
    """True if tiles of a may be packed: all of their rows have all products, and no lane moves them."""
    return c.rows is not None and not c.a.step(c.lanes) and all(x.place is not c.rows for x in c.limits)


def rows_share_lines(c: Contraction) -> bool:
    """True if neighbouring rows of a share cache lines, and steps of the sum do not."""
    step = c.a.step(c.k[-1] if c.k else None)
    return c.a.step(c.rows) == 1 and step * c.a.dtype.size >= _FAR_STEPS


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
