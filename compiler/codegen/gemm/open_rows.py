"""Products of open sizes, as far as their rows, or other indices of their results, are open.

Chunks: a run with little work has few of them, since each takes a while to begin.

Tiles of rows, of which the code has several sizes:

    at the end      full tiles, and smaller ones for what is left: of a matrix, in which this happens once
    even            tiles of one size that fits the number of rows: of a picture, which has many short rows;
                    the last tile ends with the last row, and does some rows of the one before it again

Kernels that go one of two ways, since a run may have few rows. The border is fixed, so the bits of a run
follow from its sizes alone:

    few rows                                     many rows
    slices of the sum, then the sum of those     whole sums: there are tiles enough for all threads
    the second operand as it lies in memory      packed: it is read again for each tile of rows
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, reduce

from staticgraph.compiler.codegen.abi import Phase
from staticgraph.compiler.codegen.gemm.choice import Choice
from staticgraph.compiler.codegen.gemm.chunks import (
    EVEN,
    MOST,
    ChunkPart,
    Grid,
    IndexRange,
    OpenPart,
    multiplied,
    picoseconds,
    split,
)
from staticgraph.compiler.codegen.gemm.loops import open_sizes, parameters
from staticgraph.compiler.codegen.gemm.packed_operands import reused_tiles
from staticgraph.compiler.codegen.gemm.plan import GemmPlan, plan
from staticgraph.compiler.codegen.gemm.tiles import TileRun
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.sizes import AnySize, at_least, at_most, estimate
from staticgraph.compiler.kernel.contraction import Contraction
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_LARGE = 4 << 20  # bytes of an operand: less is packed soon, beside what a second way costs LLVM
_FEW_PARTS = 8  # of an open dimension, which has few values
_FEW_CHUNKS = 28  # that nothing is computed for, to have fewer in runs with little work: a microsecond
Body = Callable[[Number, Number, TileRun], None]  # of the number of a tile, its first row, and its kind


def in_run(c: Contraction, grid: Grid) -> Grid:
    """The grid with no more parts of its open dimensions than the sizes of a run are worth.

    The first one has as many as all work is worth, the next one as many as the work for one value of it. Few
    chunks along a single dimension stay as they are.
    """
    indices = [*c.outer_of_b, c.lanes, *c.other_outer, *((c.rows,) if c.rows else ())]
    known = math.prod(d.parts for d in grid.dimensions if isinstance(d, ChunkPart))
    dimensions, time = list(grid.dimensions), picoseconds(c)
    unknown = [n for n, d in enumerate(dimensions) if isinstance(d, OpenPart)]
    if len(unknown) < 2 and estimate(grid.chunks) <= _FEW_CHUNKS:
        return grid
    for n in unknown:
        most = dimensions[n].parts
        parts = at_least(at_most(_parts_worth(time) // known, most), 1)
        if n != unknown[-1]:
            from staticgraph.compiler.graph.open_sizes import lesser  # of several open indices

            parts = at_least(lesser(parts, indices[n].extent), 1)
            time = multiplied(c, indices[n + 1 :])
        dimensions[n] = OpenPart(parts)
    return Grid(tuple(dimensions))


def _parts_worth(picoseconds: AnySize) -> AnySize:
    """`chunks_wanted` of a time in a run."""
    short, long = (round(1000 * ns) for ns in CPU.product_chunk_ns)
    return at_most(picoseconds // short, EVEN) + at_least(at_most(picoseconds // long, MOST) - EVEN, 0)


def each_tile(w: GemmWriter, span: IndexRange, rows: Number, runs: Sequence[TileRun], body: Body) -> None:
    """`body` for the full tiles of the span, and smaller ones for the rows after all of these if it ends
    there.
    """
    full, *smaller = runs
    count = w.quotient(rows, full.size)
    stop = w.minimum(span.stop, count)
    w.when_less(
        span.start,
        stop,
        lambda: w.each(span.start, stop, 1, lambda n: body(n, w.mul(n, full.size), full)),
    )

    def rest() -> None:
        done = w.mul(count, full.size)
        left = w.add(rows, w.mul(done, -1))
        for run in smaller:
            row = w.add(done, w.value(f"and i64 {left}, {-2 * run.size}"))
            w.when_less(0, w.value(f"and i64 {left}, {run.size}"), partial(body, count, row, run))

    if smaller:
        w.when_less(count, span.stop, rest)


def each_even_tile(
    w: GemmWriter, span: IndexRange, rows: Number, size: Number, runs: Sequence[TileRun], body: Body
) -> None:
    """`body` for the tiles of the span, of `size` rows each, which is that of one of the runs."""
    last = w.add(rows, w.mul(size, -1))

    def of_size(run: TileRun) -> None:
        def tile(n: Number) -> None:
            body(n, w.minimum(w.mul(n, run.size), last), run)

        w.when_less(span.start, span.stop, lambda: w.each(span.start, span.stop, 1, tile))

    for run in runs:
        is_size = w.value(f"icmp eq i64 {w.number(size)}, {run.size}")
        w.either(is_size, partial(of_size, run), lambda: None)


def even_size(w: GemmWriter, rows: Number, runs: Sequence[TileRun]) -> Number:
    """`tiles.even_size` in code: a call of a function, since the one around it is not optimised."""
    inner = GemmWriter()
    sizes = [run.size for run in runs]

    def least(tiles: Number) -> Number:
        found: Number = sizes[0]
        for size in sizes[1:]:
            enough = inner.value(f"icmp sge i64 {inner.mul(tiles, size)}, %rows")
            found = inner.value(f"select i1 {enough}, i64 {size}, i64 {inner.number(found)}")
        return found

    tiles = inner.quotient(inner.add("%rows", sizes[0] - 1), sizes[0])
    fewest, more = least(tiles), least(inner.add(tiles, 1))
    fits = inner.value(f"icmp sle i64 {fewest}, {inner.maximum('%rows', 1)}")
    size = inner.value(f"select i1 {fits}, i64 {fewest}, i64 {more}")
    symbol, text = inner.helper(("i64 %rows",), "noinline nounwind", returns=f"i64 {size}")
    w.need(text)
    return w.value(f"call i64 {symbol}(i64 {w.number(rows)})")


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The plan of runs that have at most `rows` rows: they read the second operand as it lies."""

    plan: GemmPlan
    rows: int


def unpacked_if_few(c: Contraction, usual: GemmPlan, target: CpuTarget, reserved: int) -> Unpacked | None:
    """The plan for few rows of a product that packs a large operand for many; None if there is none."""
    if not c.open_outer or c.open_sum or c.open_columns or c.outer_of_b:
        return None
    if usual.b is None or usual.b.shared is None:
        return None
    if c.b.step(c.lanes) != 1 or c.b.dtype is not c.dtype or c.size(c.b) * c.dtype.size < _LARGE:
        return None
    rows = (reused_tiles(c, usual.tiling) - 1) * usual.tiling.rows[0].size
    found = plan(c, target, reserved, Choice(pack_b=False))
    return Unpacked(replace(found, grid=_of_few(c, found.grid)), rows)


def _of_few(c: Contraction, grid: Grid) -> Grid:
    """The grid with its dimensions cut for few values of the open ones."""
    moving = len(c.outer_of_b) + 1
    dimensions = [*grid.dimensions[:moving]]
    for d in grid.dimensions[moving:]:
        if isinstance(d, OpenPart):
            dimensions.append(OpenPart(min(d.parts, _FEW_PARTS)))
        else:
            dimensions.append(split(d.count, 2) if d.parts == 1 and d.count > 1 else d)
    return Grid(tuple(dimensions))


def row_extents(c: Contraction) -> tuple[AnySize, ...]:
    """The extents whose product is the number of rows that go with each column of b."""
    return (*(i.extent for i in c.other_outer), *((c.rows.extent,) if c.rows else ()))


def by_rows(c: Contraction, most: int, few: Sequence[Phase], many: Sequence[Phase]) -> tuple[Phase, ...]:
    """Phases that do what `few` do in runs with at most `most` rows, else what `many` do."""
    extents = row_extents(c)
    is_many = at_most(math.prod(extents) // (most + 1), 1)
    operands = [(kind, name) for kind, name in map(str.split, parameters(c))]
    length, phases = max(len(few), len(many)), list[Phase]()
    pairs = zip(*((*[None] * (length - len(some)), *some) for some in (few, many)), strict=True)
    for one, other in pairs:
        w = GemmWriter(open_sizes(c))

        def does(phase: Phase | None, w: GemmWriter = w) -> None:
            if phase is not None:
                w.call_shared(phase.code, *operands)

        rows = reduce(w.mul, extents)
        w.either(w.value(f"icmp sle i64 {w.number(rows)}, {most}"), partial(does, one), partial(does, other))
        at_few, at_many = (1 if phase is None else phase.chunks for phase in (one, other))
        reads = None if one is not None or other is None else other.reads
        code = replace(w.finish(parameters(c)), plain=True)
        phases.append(Phase(code, at_few + (at_many - at_few) * is_many, reads))
    return tuple(phases)
