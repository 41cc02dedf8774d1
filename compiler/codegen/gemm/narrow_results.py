"""Micro-kernels of narrow results, whose few columns would leave most of a vector along them empty.

dot_sums    vectors along the sum, for few rows or columns of which both operands run along the sum in memory
row_sums    vectors along the rows, for few columns where rows of a are neighbours: gradients of weights

In `dot_sums`, each element of the tile has a vector of partial sums, which are added up at the end. Nothing
is packed: a matrix times a vector reads the matrix once, so turning it around first would double the work.
Where b is small and a has many rows, `transpose.py` does turn it around. In `row_sums`, a step of the sum
multiplies vectors of a with single elements of b. The finished sums are turned around in registers, and the
epilogue sees vectors along the columns, as ever.
"""

from __future__ import annotations

from dataclasses import replace

from staticgraph.compiler.codegen.gemm.micro_kernel import column_sums
from staticgraph.compiler.codegen.gemm.register_tile import Stream, Tile
from staticgraph.compiler.codegen.gemm.tiles import (
    PanelRun,
    TilePiece,
    TileRun,
    Tiling,
    balanced,
    panels,
    piece_width,
    row_products,
)
from staticgraph.compiler.codegen.gemm.transpose import transpose
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.llvm.text import memory_type, suffix, vector
from staticgraph.compiler.kernel.contraction import Contraction

MOST_ROWS = 6  # with more, packing b pays


def dot_tiling(rows: int, columns: int, registers: int) -> Tiling:
    """Tiles with a vector register for each element.

    Where there are many rows, at least two of them share what is loaded of b: a processor multiplies as many
    vectors as it loads.

    >>> tiling = dot_tiling(100, 10, registers=16)
    >>> [(run.size, run.count) for run in tiling.rows], [(run.size, run.count) for run in tiling.panels]
    ([(2, 50)], [(5, 2)])
    """
    if rows > MOST_ROWS:
        runs = balanced(columns, (registers - 1) // 2 - 1)
        cut = tuple(PanelRun(r.start, r.count, (TilePiece(0, piece_width(r.size), r.size),)) for r in runs)
        return Tiling(balanced(rows, (registers - 1) // (runs[0].size + 1)), cut)
    row_cut = balanced(rows, 3 if registers == 32 else 2)
    most = 8 if row_cut[0].size == 1 else 4
    return Tiling(row_cut, panels(columns, min(most, piece_width(columns)), 1))


def dot_sums(w: GemmWriter, tile: Tile) -> list[str]:
    """The finished sums of the tile: per row, one vector along the columns."""
    (piece,) = tile.pieces
    places = [(i, c) for i in range(tile.rows) for c in range(piece.known)]
    kind = vector(memory_type(tile.dtype), tile.lanes)

    def step(a: str, b: str, k: Number, valid: int, sums: list[str]) -> list[str]:
        left = [_read(w, tile, tile.a, a, w.mul(i, tile.a.row), k, valid) for i in range(tile.rows)]
        held = dict(zip(places, sums, strict=True))
        for c in range(piece.known):  # one by one: there are registers for few of them
            right = _read(w, tile, tile.b, b, w.mul(c, tile.b.lane), k, valid)
            for i in range(tile.rows):
                held[i, c] = w.fma(left[i], right, held[i, c], tile.dtype, tile.lanes)
        return [held[place] for place in places]

    def nest(level: int, a: str, b: str, sums: list[str]) -> list[str]:
        extent = tile.extents[level]
        assert extent is not None
        carried = [(kind, s) for s in sums]
        if level + 1 < len(tile.extents):

            def inside(k: Number, held: list[str]) -> list[str]:
                moved_a = w.address(a, w.mul(k, tile.a.k[level]), tile.a.dtype)
                moved_b = w.address(b, w.mul(k, tile.b.k[level]), tile.b.dtype)
                return nest(level + 1, moved_a, moved_b, held)

            return w.repeat(0, extent, 1, inside, carried)
        whole = extent // tile.lanes * tile.lanes
        if whole:
            sums = w.repeat(0, whole, tile.lanes, lambda k, held: step(a, b, k, tile.lanes, held), carried)
        return step(a, b, whole, extent - whole, sums) if extent > whole else sums

    lanes = nest(0, "%a", "%b", ["zeroinitializer"] * len(places))
    return [_column_vector(w, tile, lanes[i * piece.known : (i + 1) * piece.known]) for i in range(tile.rows)]


def _read(w: GemmWriter, tile: Tile, stream: Stream, base: str, start: Number, k: Number, valid: int) -> str:
    """Neighbours along the sum, zeros after the first `valid`."""
    pointer = w.address(w.address(base, start, stream.dtype), k, stream.dtype)
    return w.convert(w.load(pointer, stream.dtype, tile.lanes, valid), stream.dtype, tile.dtype, tile.lanes)


def _column_vector(w: GemmWriter, tile: Tile, vectors: list[str]) -> str:
    """The sum over the lanes of each vector, side by side."""
    (piece,) = tile.pieces
    element = memory_type(tile.dtype)
    wide, kind = vector(element, tile.lanes), vector(element, piece.width)
    name = f"llvm.vector.reduce.fadd.{suffix(element, tile.lanes)}"
    w.need(f"declare {element} @{name}({element}, {wide})")
    result = "zeroinitializer"
    for c, lanes in enumerate(vectors):
        # `reassoc` lets the lanes be added pairwise: a fixed order, but not from first to last.
        total = w.value(f"call reassoc {element} @{name}({element} zeroinitializer, {wide} {lanes})")
        if piece.width == 1:
            return total
        result = w.value(f"insertelement {kind} {result}, {element} {total}, i64 {c}")
    return result


_TURNING = 5  # to turn a vector of sums around, in multiply-adds
_PAYS = 0.92  # of the multiply-adds along the columns
_ACCUMULATORS = 12  # hide the latency of multiply-adds
_MANY = 8  # tiles of rows
_OPEN_DEPTH = 2  # times the estimate of an open sum: a longer one gains more than a shorter one loses


def rows_pay(c: Contraction, lanes: int, registers: int) -> bool:
    """True if vectors along the rows leave so few lanes empty that they pay off."""
    vectors, columns = -(-c.row_count // lanes), c.column_count
    depth = c.depth * (_OPEN_DEPTH if c.open_sum else 1)
    work = vectors * (columns * depth + _TURNING * lanes)
    return columns <= registers - 3 and work <= _PAYS * c.row_count * row_products(columns, lanes) * depth


def row_tiling(rows: int, columns: int, lanes: int, registers: int) -> Tiling:
    """Tiles of all columns and one vector of rows, or of several where that leaves enough of them."""
    most = max(1, min((registers - 2) // (columns + 1), -(-_ACCUMULATORS // columns)))
    size = lanes * max(1, min(most, rows // (_MANY * lanes)))
    whole, rest = divmod(rows, size)
    runs = (TileRun(0, size, whole), TileRun(whole * size, rest, 1))
    return Tiling(tuple(r for r in runs if r.size and r.count), panels(columns, lanes, -(-columns // lanes)))


def row_sums(w: GemmWriter, tile: Tile) -> list[str]:
    """The finished sums of the tile, in vectors along the columns."""
    rows, lanes = tile.rows, tile.lanes
    groups = tuple(TilePiece(start, lanes, min(lanes, rows - start)) for start in range(0, rows, lanes))
    turned = replace(
        tile,
        rows=tile.columns,
        pieces=groups,
        a=Stream(tile.b.dtype, tile.b.lane, 0, tile.b.k),
        b=Stream(tile.a.dtype, 0, tile.a.row, tile.a.k),
    )
    sums = dict(zip(turned.places, column_sums(w, turned, "%b", "%a"), strict=True))
    found: dict[tuple[int, int], str] = {}
    for g, group in enumerate(groups):
        for j, piece in enumerate(tile.pieces):
            square = ["zeroinitializer"] * lanes
            for c in range(piece.known):
                square[c] = sums[piece.start + c, g]
            for r, row in enumerate(transpose(w, square, tile.dtype)[: group.known]):
                found[group.start + r, j] = w.lanes(row, tile.dtype, lanes, 0, piece.width)
    return [found[place] for place in tile.places]
