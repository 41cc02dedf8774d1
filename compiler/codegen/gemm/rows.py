"""The micro-kernel of few columns whose rows are neighbours in a: gradients of the last layer's weights.

Ten columns would leave a third of every vector empty. So the vectors lie along the rows: a step of the sum
multiplies vectors of a with single elements of b. The finished sums are turned around in registers, and the
epilogue sees vectors along the columns, as ever.
"""

from __future__ import annotations

from dataclasses import replace

from staticgraph.compiler.codegen.gemm.micro_kernel import column_sums
from staticgraph.compiler.codegen.gemm.register_tile import Stream, Tile
from staticgraph.compiler.codegen.gemm.tiles import TilePiece, TileRun, Tiling, panels, row_products
from staticgraph.compiler.codegen.gemm.transpose import transpose
from staticgraph.compiler.codegen.gemm.writer import GemmWriter
from staticgraph.compiler.kernel.contraction import Contraction

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
