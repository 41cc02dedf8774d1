"""The grid of chunks of a contraction: as many as its time is worth, cut so that the least is read."""

from __future__ import annotations

import math

from staticgraph.compiler.codegen.gemm.chunks import ChunkPart, Grid, OpenPart, chunks_wanted, cut, split
from staticgraph.compiler.codegen.gemm.packed_operands import PANELS
from staticgraph.compiler.codegen.gemm.tiles import Tiling
from staticgraph.compiler.graph.sizes import MANY, NOMINAL, AnySize, Size, estimate
from staticgraph.compiler.kernel.contraction import Contraction, count
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.machine import CPU

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
    indices = (*((c.rows,) if c.rows else ()), c.lanes, *c.outer, *c.k)
    products: AnySize = math.prod(i.extent for i in indices)
    moved: AnySize = sum(
        b.size * round(1000 * b.dtype.size / CPU.product_bytes_per_ns) for b in c.buffers.values()
    )
    multiplied = products * round(1000 * c.dtype.size / (2 * CPU.flops_per_ns))
    return max(multiplied, moved, key=lambda time: estimate(time, MANY))


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
