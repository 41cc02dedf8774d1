"""The micro-kernel of few rows or columns: both operands run along the sum in memory, and so do the vectors.

Each element of the tile has a vector of partial sums, which are added up at the end. Nothing is packed here:
a matrix times a vector reads the matrix once, so turning it around first would double the work. Where b is
small and a has many rows, transpose_b.py does turn it around.
"""

from __future__ import annotations

from staticgraph.compiler.codegen.gemm.register_tile import Stream, Tile
from staticgraph.compiler.codegen.gemm.tiles import PanelRun, TilePiece, Tiling, balanced, panels, piece_width
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.llvm.text import memory_type, suffix, vector

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
