"""Register tiles and cache blocks of a contraction: numbers only, no code.

A tile of the result is `rows` by a panel of columns, and all of it lives in vector registers while the sum
runs. A panel is a few whole vectors, the last one perhaps narrower or masked. Tiles are balanced: 64 rows are
five tiles of 11 and 10 rather than four of 14 and one of 8. The choice minimises an estimate of the cycles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache

from staticgraph.compiler.codegen.gemm.cache_lines import reading_cost
from staticgraph.compiler.codegen.gemm.several import Several
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_FMA_LATENCY = 8  # from one into an accumulator to the next, in multiply-adds: two of them begin in a cycle
_ELEMENT_COST = 0.2  # of loading an element of a, in multiply-adds
_BLEND_COST = 0.25  # of an element into a vector that rows share
_VECTOR_COST = 0.35  # of loading a vector of b, which lies further away
_TILE_CYCLES = 24  # to enter a micro-kernel and to leave it
# Compiling one more micro-kernel, which takes LLVM 3 to 5 ms, must save this part of the cycles. With few
# registers, small tiles wait for their sums on some processors.
_KERNEL_COST = {32: 0.04, 16: 0.01}
_SHARED_CYCLES = 40_000  # work that threads share
_MOST_ROWS = 16  # of a tile
_MANY_ROWS = 32  # that go with each value of an open size, such as the places of a picture: their rests count
_REST_COST = 1.04  # of batches that are powers of two, in tiles that are not: the last ones have few rows
_MOST_PIECES = 8  # vectors along the columns of a tile
_OPEN_PIECES = 2  # the same if the number of columns is open: what is left of them has panels of one vector
VALID = "%valid"  # the parameter that holds how many lanes exist


class Along(Enum):
    """Direction of the vectors of a micro-kernel."""

    COLUMNS = "columns"
    ROWS = "rows"  # of few columns, where rows are neighbours in a
    SUM = "sum"  # of few rows or columns, where steps of the sum are neighbours in both operands


@dataclass(frozen=True, slots=True)
class TilePiece:
    """One vector of a panel: `width` lanes from column `start` of the panel, `valid` of which exist.

    If `valid` is a string, it names the value at run time.
    """

    start: int
    width: int
    valid: int | str

    @property
    def known(self) -> int:
        """The number of lanes that exist, which is known when the code is written."""
        assert isinstance(self.valid, int)
        return self.valid

    @property
    def stop(self) -> int:
        """The column after the last lane that may exist."""
        return self.start + (self.width if isinstance(self.valid, str) else self.valid)


@dataclass(frozen=True, slots=True)
class TileRun:
    """`count` neighbouring equal parts of `size`, the first at `start`."""

    start: int
    size: int
    count: int

    @property
    def stop(self) -> int:
        """The end of the last part."""
        return self.start + self.size * self.count


@dataclass(frozen=True, slots=True)
class PanelRun:
    """`count` neighbouring panels of equal pieces, the first at column `start`."""

    start: int
    count: int
    pieces: tuple[TilePiece, ...]

    @property
    def size(self) -> int:
        """Columns of one panel."""
        return self.pieces[-1].stop


@dataclass(frozen=True, slots=True)
class Tiling:
    """Tiles of all rows and columns."""

    rows: tuple[TileRun, ...]
    panels: tuple[PanelRun, ...]
    even: bool = False  # of an open number of rows, see `even_rows`

    @property
    def panel_count(self) -> int:
        """Number of panels."""
        return sum([p.count for p in self.panels])

    @property
    def tile_count(self) -> int:
        """Number of tiles of rows."""
        return self.rows[0].count if self.even else sum([r.count for r in self.rows])

    @property
    def columns(self) -> int:
        """Lanes of all panels, if each were as wide as the widest."""
        return self.panel_count * self.pitch

    @property
    def pitch(self) -> int:
        """Lanes of the widest panel, unused ones included."""
        return pitch(self.panels)


def balanced(extent: int, largest: int) -> tuple[TileRun, ...]:
    """`extent` cut into as few parts of at most `largest` as possible, whose sizes differ by at most one.

    >>> balanced(64, 14)
    (TileRun(start=0, size=13, count=4), TileRun(start=52, size=12, count=1))
    """
    parts = -(-extent // largest)
    size, longer = divmod(extent, parts)
    runs = (TileRun(0, size + 1, longer), TileRun(longer * (size + 1), size, parts - longer))
    return tuple([r for r in runs if r.count])


def open_rows(largest: int, count: int, unit: int) -> tuple[TileRun, ...]:
    """The tiles of an unknown number of rows, a multiple of `unit`: `count` of the largest, or more or fewer.

    At most one of each smaller power of two does the rest, as far as there may be such a rest.

    >>> [(run.size, run.count) for run in open_rows(6, 10, 1)]
    [(6, 10), (4, 1), (2, 1), (1, 1)]
    >>> [(run.size, run.count) for run in open_rows(6, 10, 64)]
    [(6, 10), (4, 1), (2, 1)]
    >>> [(run.size, run.count) for run in open_rows(8, 10, 64)]
    [(8, 10)]
    >>> [(run.size, run.count) for run in open_rows(7, 10, 49)]
    [(7, 10)]
    """
    runs = [TileRun(0, largest, count)]
    steps = math.gcd(largest, unit)
    if steps == largest:
        return tuple(runs)
    least = (steps & -steps).bit_length() - 1  # each rest is a multiple of this power of two
    for size in (1 << n for n in reversed(range(least, (largest - 1).bit_length()))):
        runs.append(TileRun(runs[-1].stop, size, 1))
    return tuple(runs)


def even_rows(largest: int, count: int) -> tuple[TileRun, ...]:
    """The tiles of an unknown number of rows, of which a run takes one size only: `even_size` chooses it.

    The last tile ends with the last row, and may do rows of the one before it again. A rest in tiles of few
    rows takes as long as a full one: so few sums wait for themselves.

    >>> [run.size for run in even_rows(14, 3)], [run.size for run in even_rows(6, 3)]
    ([14, 12, 10, 8, 7, 6, 4, 2, 1], [6, 5, 4, 2, 1])
    """
    sizes = [
        largest,
        *(n for n in (14, 12, 10, 8, 7, 6, 5, 4, 2, 1) if n < largest and (n != 5 or largest < 8)),
    ]
    runs = [TileRun(0, sizes[0], count)]
    for size in sizes[1:]:
        runs.append(TileRun(runs[-1].stop, size, 1))
    return tuple(runs)


def even_size(rows: int, sizes: Sequence[int]) -> int:
    """The size of the tiles of so many rows: the least one that takes as few tiles as there can be.

    >>> [even_size(rows, (14, 12, 10, 8, 7, 6, 4, 2, 1)) for rows in (28, 30, 13, 12, 9, 3, 0)]
    [14, 10, 7, 12, 6, 2, 1]
    """
    tiles = -(-rows // sizes[0])
    found = _least_size(rows, tiles, sizes)
    return found if found <= max(rows, 1) else _least_size(rows, tiles + 1, sizes)


def _least_size(rows: int, tiles: int, sizes: Sequence[int]) -> int:
    return min(size for size in sizes if size * tiles >= rows)


def pitch(panels: Iterable[PanelRun]) -> int:
    """Lanes of the widest of the panels, unused ones included."""
    return max(sum(p.width for p in panel.pieces) for panel in panels)


def panels(columns: int, lanes: int, pieces: int) -> tuple[PanelRun, ...]:
    """`columns` as panels of at most `pieces` vectors of `lanes`."""
    full, rest = divmod(columns, lanes)
    out: list[PanelRun] = []
    for run in balanced(full + (rest > 0), pieces):
        whole = tuple(TilePiece(i * lanes, lanes, lanes) for i in range(run.size))
        ends_in_tail = rest > 0 and run.stop == full + 1
        if run.count > ends_in_tail:
            out.append(PanelRun(run.start * lanes, run.count - ends_in_tail, whole))
        if ends_in_tail:
            last = TilePiece((run.size - 1) * lanes, piece_width(rest), rest)
            out.append(PanelRun((run.stop - run.size) * lanes, 1, (*whole[:-1], last)))
    return tuple(out)


def open_panels(lanes: int, pieces: int, count: int) -> tuple[PanelRun, ...]:
    """The panels of an unknown number of columns: `count` of `pieces` vectors, or more or fewer.

    Panels of one vector do the rest, of which as many lanes exist as `VALID` says.
    """
    whole = tuple(TilePiece(i * lanes, lanes, lanes) for i in range(pieces))
    return PanelRun(0, count, whole), PanelRun(count * pieces * lanes, 1, (TilePiece(0, lanes, VALID),))


def pages_apart(step: int | Several, dtype: DType) -> bool:
    """True if elements at this distance compete for the same cache sets."""
    return bool(step * dtype.size % CPU.page_bytes == 0)


def whole_pieces(extent: int, lanes: int) -> tuple[TilePiece, ...]:
    """`extent` as whole vectors: powers of two, the wide ones first."""
    pieces: list[TilePiece] = []
    start = 0
    while start < extent:
        width = min(lanes, 1 << ((extent - start).bit_length() - 1))
        pieces.append(TilePiece(start, width, width))
        start += width
    return tuple(pieces)


def piece_width(valid: int) -> int:
    """Lanes of the narrowest vector that holds so many elements."""
    return 1 << (valid - 1).bit_length()


def choose(
    rows: int, columns: int, depth: int, lanes: int, registers: int, times: int, crossing: float = 0.0
) -> Tiling:
    """The tiling with the least estimated cycles, for registers
    of `lanes` elements, where there are `times` such results.

    A part `crossing` of the vectors of b cross into another cache line.
    """
    best: tuple[float, Tiling] | None = None
    for pieces in range(1, _MOST_PIECES + 1):
        most = most_rows(pieces, registers)
        if most < 1:
            break
        cut = panels(columns, lanes, pieces)
        for largest in range(most, max(most // 2, 1) - 1, -1):
            tiling = Tiling(balanced(rows, largest), cut)
            cost = times * estimate(tiling, depth, lanes, registers, crossing)
            if cost > _SHARED_CYCLES:
                tiles = times * tiling.tile_count * tiling.panel_count
                cost *= (tiles + tiles % 2) / tiles  # one of two threads waits for the odd one
            if best is None or cost < best[0]:
                best = cost, tiling
        if pieces * lanes >= columns:
            break
    assert best is not None
    return best[1]


def choose_open(
    columns: int,
    depth: int,
    lanes: int,
    registers: int,
    rows: int,
    unit: int,
    *,
    crossing: float = 0.0,
    even: bool = False,
) -> Tiling:
    """The tiling with the least estimated cycles for each of many rows, a multiple of `unit`, of which `rows`
    is an estimate. A part `crossing` of the vectors of b cross into another cache line. If `even`, the last
    rows of a tile may be done twice.
    """
    best: tuple[float, int, tuple[PanelRun, ...]] | None = None
    for pieces in range(1, _MOST_PIECES + 1):
        most = most_rows(pieces, registers)
        if most < 1:
            break
        cut = panels(columns, lanes, pieces)
        for largest in range(most, max(most // 2, 1) - 1, -1):
            known = unit if unit >= _MANY_ROWS else largest
            tiling = Tiling(_tiles_of(known, largest), cut)
            cost = estimate(tiling, depth, lanes, registers, crossing) / known
            if known != unit and largest & (largest - 1) and not even:
                cost *= _REST_COST
            if best is None or cost < best[0]:
                best = cost, largest, cut
        if pieces * lanes >= columns:
            break
    assert best is not None
    _, largest, cut = best
    count = max(1, rows // largest)
    if even and unit % largest:
        return Tiling(even_rows(largest, count), cut, even=True)
    return Tiling(open_rows(largest, count, unit), cut)


@cache
def _tiles_of(rows: int, largest: int) -> tuple[TileRun, ...]:
    """The tiles of so many rows where their number is open: full ones, and powers of two for the rest."""
    full, rest = divmod(rows, largest)
    sizes = [1 << n for n in reversed(range(rest.bit_length())) if rest >> n & 1]
    return (TileRun(0, largest, full), *(TileRun(0, size, 1) for size in sizes))


def choose_open_columns(
    columns: int, depth: int, lanes: int, registers: int, rows: int, unit: int | None
) -> Tiling:
    """The tiling with the least estimated cycles for each of many columns, of which `columns` is an estimate.

    If there is a `unit`, `rows` is one as well, of a multiple of it.
    """
    best: tuple[float, Tiling] | None = None
    for pieces in range(1, _OPEN_PIECES + 1):
        most = most_rows(pieces, registers)
        for largest in range(most, max(most // 2, 1) - 1, -1):
            count = max(1, rows // largest)
            runs = balanced(rows, largest) if unit is None else open_rows(largest, count, unit)
            cut = open_panels(lanes, pieces, max(1, columns // (pieces * lanes)))
            full = runs if unit is None else (TileRun(0, largest, 1),)
            cost = estimate(Tiling(full, (PanelRun(0, 1, cut[0].pieces),)), depth, lanes, registers)
            cost /= pieces * sum(run.size * run.count for run in full)
            if unit is not None and largest & (largest - 1):
                cost *= _REST_COST
            if best is None or cost < best[0]:
                best = cost, Tiling(runs, cut)
    assert best is not None
    return best[1]


def _products(rows: int, pieces: Sequence[TilePiece], lanes: int) -> float:
    """Multiply-adds of a step of a tile. Rows share the vectors of narrow pieces, for which their elements
    of a are blended.
    """
    vectors = sum([-(-rows // max(1, lanes // piece.width)) for piece in pieces])
    return vectors + _BLEND_COST * (rows * len(pieces) - vectors)


def row_products(columns: int, lanes: int) -> float:
    """Multiply-adds of a step of the sum for each of many rows. They wait for at least one element of a.

    >>> row_products(100, 16), row_products(10, 16)
    (6.4375, 1)
    """
    pieces, many = [p for run in panels(columns, lanes, -(-columns // lanes)) for p in run.pieces], lanes
    return max(1, _products(many, pieces, lanes) / many)


def most_rows(pieces: int, registers: int) -> int:
    """Return the most rows of a tile with `pieces` vectors per row: a row of b and an element of a fit, too.

    >>> most_rows(2, 16), most_rows(3, 16), most_rows(8, 16)
    (6, 4, 0)
    """
    return min((registers - 1 - pieces) // pieces, _MOST_ROWS)


def estimate(tiling: Tiling, depth: int, lanes: int, registers: int, crossing: float = 0.0) -> float:
    """The cycles for the whole result, about: multiply-adds, loads
    and latency of each step, and the ends of each tile.

    A part `crossing` of the vectors of b cross into another cache line.
    """
    total = 0.0
    for panel in tiling.panels:
        vectors = len(panel.pieces)
        for run in tiling.rows:
            accumulators = _products(run.size, panel.pieces, lanes)
            # Loads run beside the multiply-adds on some processors and hold them up on others.
            busy = accumulators + _ELEMENT_COST * run.size + _VECTOR_COST * vectors
            step = max(busy, _FMA_LATENCY, reading_cost(run.size, vectors, crossing))
            ends = _TILE_CYCLES + 2 * accumulators
            total += panel.count * run.count * (depth * step + ends)
    return total * (1 + _KERNEL_COST[registers] * len(tiling.panels) * len(tiling.rows))


@dataclass(frozen=True, slots=True)
class DepthBlocks:
    """The sum cut into blocks that stay in the cache: index
    `level` in parts of `size`, those inside it whole.

    `level` counts from the outermost index; every combination of the outer ones is a block of its own.
    """

    level: int
    size: int


def depth_blocks(extents: tuple[int, ...], largest: int) -> DepthBlocks:
    """Blocks of at most about `largest` products.

    Equal ones, where that takes at most one more: what a loop does is then known when it is compiled.

    >>> depth_blocks((1000,), 256), depth_blocks((2048,), 768), depth_blocks((64, 24, 24), 256)
    (DepthBlocks(level=0, size=200), DepthBlocks(level=0, size=512), DepthBlocks(level=1, size=8))
    """
    inside = 1
    for level in range(len(extents) - 1, -1, -1):
        extent = extents[level]
        if inside * extent > largest or level == 0:
            parts = max(1, round(inside * extent / largest + 0.49)) if inside * extent > largest else 1
            if inside == 1 and parts > 1:
                even = (n for n in (parts, parts + 1) if extent % (4 * n) == 0)
                parts = next(even, parts)
            size = -(-extent // min(parts, extent))
            if inside == 1 and parts > 1:
                size = -(-size // 4) * 4  # whole rounds of the unrolled loop
            return DepthBlocks(level, min(size, extent))
        inside *= extent
    return DepthBlocks(0, 1)
