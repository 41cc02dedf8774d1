"""The work of a contraction cut into chunks, which threads take in any order.

A chunk is a box: a range of each outer index, of the tiles of rows and of the panels of columns. How the box
is cut follows from the shapes and the target alone, so that the results do not depend on who computes them.
The grid has as many chunks as the time of the contraction is worth, cut so that the least is read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from staticgraph.compiler.codegen.gemm.packed_operands import PANELS
from staticgraph.compiler.codegen.gemm.tiles import PanelRun, Tiling
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.graph.sizes import MANY, NOMINAL, AnySize, Size, estimate, same
from staticgraph.compiler.kernel.contraction import Contraction, count
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

EVEN = 16  # chunks that share out evenly among a few threads
_ODD = 8  # one more part for so many, to have an even number
MOST = 128  # to ask for; up to twice as many may come out


def chunks_wanted(nanoseconds: float) -> int:
    """Into how many chunks work should be cut that takes one core so long.

    >>> [chunks_wanted(n) for n in (9_000, 50_000, 200_000, 1_000_000, 1e9)]
    [1, 10, 16, 20, 128]
    """
    short, long = CPU.product_chunk_ns
    if nanoseconds < 2 * short:
        return 1
    return min(MOST, max(int(nanoseconds / long), min(EVEN, int(nanoseconds / short))))


@dataclass(frozen=True, slots=True)
class IndexRange:
    """The numbers from `start` to before `stop`, of `count` that there are in all.

    It may be empty if `count` is open.
    """

    start: Number
    stop: Number
    count: Number

    def blocks(self, w: GemmWriter, size: int, body: Callable[[IndexRange], None]) -> None:
        """`body` for the span in parts of at most `size`."""
        w.each(
            self.start,
            self.stop,
            size,
            lambda n: body(IndexRange(n, w.minimum(w.add(n, size), self.stop), self.count)),
        )

    def within(self, w: GemmWriter, first: int, count: int, body: Callable[[Number], None]) -> None:
        """`body(number)` for those of the span that are among the `count` numbers from `first`."""
        start = self.start if first == 0 else w.maximum(self.start, first)
        assert not isinstance(self.count, str)
        stop = self.stop if first + count == self.count else w.minimum(self.stop, first + count)
        if count == self.count:
            w.each(start, stop, 1, body)
        else:
            w.when_less(start, stop, lambda: w.each(start, stop, 1, body))


def each_panel(
    w: GemmWriter,
    span: IndexRange,
    panels: Sequence[PanelRun],
    columns: Number,
    body: Callable[[PanelRun, Number, Number, Number], None],
) -> None:
    """`body(panel, number, column, way)` for the panels of a span.

    Columns after the last full panel of an open number of them have the number of the panel that they would
    be, and are done in narrower ones: their vectors tell at run time how many lanes exist, and lie `way`
    columns behind the beginning of the full one.
    """
    if not isinstance(columns, Size):
        first = 0
        for run in panels:

            def one(n: Number, run: PanelRun = run, first: int = first) -> None:
                body(run, n, w.add(w.mul(n, run.size), run.start - first * run.size), 0)

            span.within(w, first, run.count, one)
            first += run.count
        return
    full, narrow = panels
    count = w.quotient(columns, full.size)
    stop, lanes = w.minimum(span.stop, count), narrow.size

    def rest() -> None:
        done = w.mul(count, full.size)
        left = w.add(columns, w.mul(done, -1))

        def part(n: Number) -> None:
            way = w.mul(n, lanes)
            valid = w.minimum(w.add(left, w.mul(way, -1)), lanes)
            piece = replace(narrow.pieces[0], valid=str(valid))
            body(replace(narrow, pieces=(piece,)), count, w.add(done, way), way)

        w.each(0, w.quotient(w.add(left, lanes - 1), lanes), 1, part)

    w.when_less(
        span.start,
        stop,
        lambda: w.each(span.start, stop, 1, lambda n: body(full, n, w.mul(n, full.size), 0)),
    )
    w.when_less(count, span.stop, rest)


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """`count` numbers in parts of `size`, the last one perhaps smaller."""

    count: int
    size: int

    @property
    def parts(self) -> int:
        """Number of parts."""
        return -(-self.count // self.size)

    @property
    def longest(self) -> int:
        """Number of items that the busier of two threads gets, if these share the parts."""
        return self.count if self.parts == 1 else -(-self.parts // 2) * self.size


@dataclass(frozen=True, slots=True)
class OpenPart:
    """As many numbers as there are when the kernel runs, in so many parts. Parts may be empty."""

    parts: AnySize


@dataclass(frozen=True, slots=True)
class Grid:
    """A chunk for every combination of parts, those of the last dimension next to each other."""

    dimensions: tuple[ChunkPart | OpenPart, ...]

    @property
    def chunks(self) -> AnySize:
        """Their number."""
        return math.prod(d.parts for d in self.dimensions)

    @property
    def open_parts(self) -> tuple[Size, ...]:
        """The numbers of parts that only a run knows."""
        return tuple(d.parts for d in self.dimensions if isinstance(d.parts, Size))

    def spans(self, w: GemmWriter, unknown: Sequence[Number] = ()) -> list[IndexRange]:
        """Write code for the range that chunk `%chunk` has in every dimension; return the ranges. The open
        dimensions have as many numbers as `unknown` says.
        """
        spans, rest = [], "%chunk"
        outermost, counts = next((d for d in self.dimensions if not same(d.parts, 1)), None), list(unknown)
        for d in reversed(self.dimensions):
            count = counts.pop() if isinstance(d, OpenPart) else d.count
            if same(d.parts, 1):
                spans.append(IndexRange(0, count, count))
                continue
            digit = rest if d is outermost else w.value(f"urem i64 {rest}, {w.number(d.parts)}")
            rest = rest if d is outermost else w.value(f"udiv i64 {rest}, {w.number(d.parts)}")
            if isinstance(d, OpenPart):
                border = w.mul(digit, count)
                first, after = (w.ratio(n, d.parts) for n in (border, w.add(border, count)))
                spans.append(IndexRange(first, after, count))
                continue
            start = w.mul(digit, d.size)
            stop = w.add(start, d.size)
            even = same(d.count % d.size, 0)
            spans.append(IndexRange(start, stop if even else w.minimum(stop, d.count), d.count))
        return spans[::-1]


def split(count: int, wanted: int) -> ChunkPart:
    """About `wanted` equal parts, rather more than less, of `count` things.

    An even number of parts where that is better: one of two threads waits for the odd one.

    >>> split(49, 3), split(250, 16)
    (ChunkPart(count=49, size=13), ChunkPart(count=250, size=14))
    """
    fewest = -(-count // max(1, count // wanted))
    sizes = {-(-count // parts) for parts in range(fewest, fewest + fewest // _ODD + 1)}
    return min(
        (ChunkPart(count, size) for size in sorted(sizes, reverse=True)), key=lambda part: part.longest
    )


def cut(counts: Sequence[int], wanted: int) -> Grid:
    """About `wanted` chunks of a box: dimensions are cut one after the other, as far as need be.

    >>> cut((64, 24, 1), 16).dimensions
    (ChunkPart(count=64, size=4), ChunkPart(count=24, size=24), ChunkPart(count=1, size=1))
    """
    dimensions = []
    for number in counts:
        dimensions.append(split(number, wanted))
        wanted = -(-wanted // dimensions[-1].parts)
    return Grid(tuple(dimensions))


COLUMN_CHUNKS = 16  # enough for few threads

_OPEN_SCALE = 4  # chunks are made for an open size this many times its estimate
_OPEN_CHUNKS = 16  # of a sum of open length
_EVEN_PARTS = 16  # of an open dimension, where another one can be cut as well


def nanoseconds(c: Contraction, symbol: int = NOMINAL) -> float:
    """An estimate of the time on one core, in which every symbol is `symbol`."""
    indices = (*((c.rows,) if c.rows else ()), c.lanes, *c.outer)
    results = math.prod(estimate(i.extent, symbol) for i in indices)
    depth = c.depth if symbol == NOMINAL else math.prod(estimate(i.extent, symbol) for i in c.k)
    moved = sum(estimate(b.size, symbol) * b.dtype.size for b in c.buffers.values())
    return max(results * depth * c.dtype.size / (2 * CPU.flops_per_ns), moved / CPU.product_bytes_per_ns)


def picoseconds(c: Contraction) -> AnySize:
    """The same in picoseconds, as a polynomial in the open sizes: what takes longer for many rows."""
    moved: AnySize = sum(
        b.size * round(1000 * b.dtype.size / CPU.product_bytes_per_ns) for b in c.buffers.values()
    )
    products = multiplied(c, (*((c.rows,) if c.rows else ()), c.lanes, *c.outer))
    return max(products, moved, key=lambda time: estimate(time, MANY))


def multiplied(c: Contraction, indices: Iterable[Index]) -> AnySize:
    """The picoseconds of the products of all values of some indices of the results."""
    products: AnySize = math.prod(i.extent for i in (*indices, *c.k))
    return products * round(1000 * c.dtype.size / (2 * CPU.flops_per_ns))


def open_chunks(c: Contraction) -> int:
    """The number of chunks wanted where the sum is open: few, so that each uses the cache well."""
    return min(_OPEN_CHUNKS, chunks_wanted(nanoseconds(c) * _OPEN_SCALE))


def grid_of(
    c: Contraction, tiling: Tiling, pack_a: bool, pack_b: bool, rows_stay: bool
) -> tuple[float, Grid]:
    """The chunks: as many as are wanted, about, so that the least is read.

    Every part of the columns reads a, and every part of the rows and of the indices that do not move b reads
    b. Chunks with columns of their own can pack these alone; otherwise b is written to shared memory and read
    again. Where parts of the columns meet, both move the cache line of each row. Chunks that read the same
    part of b follow each other. Where `rows_stay`, only b is cut. Also returns how many elements are read.

    An open dimension is cut last, for many rows.
    """
    wanted = open_chunks(c) if c.open_sum else chunks_wanted(nanoseconds(c))
    moving = cut([count(i) for i in c.outer_of_b], wanted)
    wanted = -(-wanted // moving.chunks)
    others = [count(i) for i in c.other_outer]
    a = min(c.row_count * math.prod(others) * c.depth, c.size(c.a)) if c.a.buffer else 0
    b = c.depth * tiling.columns * math.prod(map(count, c.outer_of_b))
    line = ALIGNMENT // c.dtype.size
    seam = c.row_count * math.prod(others) * line * (len(c.targets) + len(c.loads))
    most = min(wanted, max(1, tiling.panel_count // (PANELS if pack_a else 1)))
    least = 1
    shares = c.open is not None and not any(map(c.b.step, c.open_outer))
    if pack_b and (c.open_sum or (shares and most >= COLUMN_CHUNKS)):
        least = most  # chunks pack panels of their own
    elif c.open_sum and tiling.tile_count * math.prod(others) >= wanted:
        most = 1
    best: tuple[float, Grid] | None = None
    for parts in range(least, most + 1):
        columns = split(tiling.panel_count, parts)
        rest = cut([*others, tiling.tile_count], 1 if rows_stay else -(-wanted // columns.parts))
        packing = 2 if pack_b and rest.chunks > 1 else 0
        missing = wanted / min(columns.parts * rest.chunks, wanted)
        read = (columns.parts * a + (columns.parts - 1) * seam + (rest.chunks + packing) * b) * missing
        if best is None or read < best[0]:
            best = read, Grid((*moving.dimensions, columns, *rest.dimensions))
    assert best is not None
    read, grid = best
    if c.open_outer or c.open_columns:
        grid = _opened(c, grid, pack_b)
    return read, grid


def _opened(c: Contraction, grid: Grid, pack_b: bool) -> Grid:
    """The grid with the dimensions of open indices cut as if they were long.

    They are not cut if the others give enough chunks, and each can pack b for itself. Of several, the first
    one is cut most. Others that read all of b, too, are cut further if one value of the open ones is work for
    several threads, such as a single image.
    """
    moving = len(c.outer_of_b)
    indices = [*c.outer_of_b, c.lanes, *c.other_outer, *((c.rows,) if c.rows else ())]
    extents: list[AnySize] = [index.extent for index in indices]
    unknown = [n for n, extent in enumerate(extents) if isinstance(extent, Size)]
    dimensions = list(grid.dimensions)
    closed = math.prod(d.parts for n, d in enumerate(dimensions) if n not in unknown)
    pack_alone = pack_b and closed >= COLUMN_CHUNKS
    alone = 1
    if unknown[0] > moving:
        values = math.prod(estimate(extents[n], 1) for n in unknown)
        alone = min(_EVEN_PARTS, chunks_wanted(nanoseconds(c, 1))) // max(values, 1)
    for n, d in enumerate(dimensions):
        if n > moving and n not in unknown and isinstance(d, ChunkPart) and closed < alone:
            dimensions[n] = split(d.count, -(-alone * d.parts // closed))
            closed = closed // d.parts * dimensions[n].parts
    further = closed // math.prod(d.parts for n, d in enumerate(grid.dimensions) if n not in unknown)
    wanted = -(-chunks_wanted(nanoseconds(c) * _OPEN_SCALE) // closed)
    for at in unknown:
        parts = 1 if pack_alone and at > moving else max(-(-dimensions[at].parts // further), wanted)
        if at != unknown[-1]:
            parts = min(parts, _EVEN_PARTS)
        dimensions[at] = OpenPart(parts)
        wanted = -(-wanted // parts)
    return Grid(tuple(dimensions))
