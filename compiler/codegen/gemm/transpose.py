"""Squares of elements turned around in registers, so that rows and columns of memory change places."""

from __future__ import annotations

from staticgraph.compiler.codegen.gemm.micro_kernel import WIDE, Stream, read_lanes
from staticgraph.compiler.codegen.gemm.tiles import TilePiece
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.llvm.text import memory_type, vector
from staticgraph.compiler.graph.dtypes import DType


def turner(stream: Stream, piece: TilePiece, count: Number, to: DType) -> tuple[str, tuple[str, ...]]:
    """A helper function (ptr from, ptr to, i64 pitch, i64 count) that turns around one piece: its symbol, and
    its text after what that needs. If the number of lanes is open, it follows `count`, and the last one is
    repeated in the lanes that do not exist.

    Lane l of step s comes from `from[l * stream.lane + s]`, and goes to `to[s * pitch + l]`. Squares first,
    then what is left of the `count` steps.
    """
    w, side, dtype = GemmWriter(), max(piece.width, 16 // to.size), stream.dtype
    columns_at: list[Number] = [w.mul(c, stream.lane) for c in range(piece.stop)]
    if isinstance(piece.valid, str):
        last = w.mul(w.add(piece.valid, -1), stream.lane)
        columns_at = [w.minimum(at, last) for at in columns_at]

    def block(k: Number, steps: int) -> None:
        at, columns = w.address("%from", k, dtype), ["zeroinitializer"] * side
        for c, way in enumerate(columns_at):
            column = w.load(w.address(at, way, dtype), dtype, side, steps)
            columns[c] = w.convert(column, dtype, to, side)
        for u, row in enumerate(transpose(w, columns, to)[:steps]):
            row = w.lanes(row, to, side, 0, piece.width)
            place = w.address("%to", w.mul(w.add(k, u), "%pitch"), to)
            w.store(row, place, to, piece.width, piece.width)

    def single(k: Number) -> None:
        x = read_lanes(w, w.address("%from", k, dtype), stream, piece)
        place = w.address("%to", w.mul(k, "%pitch"), to)
        w.store(w.convert(x, dtype, to, piece.width), place, to, piece.width, piece.width)

    if isinstance(count, int):
        even = count // side * side
        if even:
            w.each(0, even, side, lambda k: block(k, side))
        if even < count:
            block(even, count - even)
    else:
        whole = w.value(f"and i64 %count, {-side}")
        w.when_less(0, whole, lambda: w.each(0, whole, side, lambda k: block(k, side)))
        w.when_less(whole, "%count", lambda: w.each(whole, "%count", 1, single))
    valid = (f"i64 {piece.valid}",) if isinstance(piece.valid, str) else ()
    symbol, text = w.helper(
        ("ptr noalias %from", "ptr noalias %to", "i64 %pitch", "i64 %count", *valid), WIDE
    )
    return symbol, (*w.needs, text)


def transpose(w: GemmWriter, rows: list[str], dtype: DType) -> list[str]:
    """The columns of a square of vectors: interleaving inside 128-bit lanes, then exchange of whole lanes."""
    side, inside = len(rows), 16 // dtype.size
    kind = vector(memory_type(dtype), side)

    def shuffle(x: str, y: str, lanes: list[int]) -> str:
        indices = ", ".join(f"i32 {lane}" for lane in lanes)
        return w.value(f"shufflevector {kind} {x}, {kind} {y}, <{side} x i32> <{indices}>")

    # After each round every group of `2 * distance` lanes holds one column of twice as many rows.
    distance = 1
    while distance < inside:
        out = list(rows)
        for group in range(0, side, 2 * distance):
            for i in range(group, group + distance):
                low, high = _interleaved(side, inside, distance)
                x, y = rows[i], rows[i + distance]
                out[group + 2 * (i - group)] = shuffle(x, y, low)
                out[group + 2 * (i - group) + 1] = shuffle(x, y, high)
        rows, distance = out, 2 * distance
    while distance < side:
        out = list(rows)
        for i in range(side):
            if not i & distance:
                low = [p if not p & distance else p - distance + side for p in range(side)]
                high = [p + distance if not p & distance else p + side for p in range(side)]
                out[i] = shuffle(rows[i], rows[i + distance], low)
                out[i + distance] = shuffle(rows[i], rows[i + distance], high)
        rows, distance = out, 2 * distance
    return rows


def _interleaved(side: int, inside: int, distance: int) -> tuple[list[int], list[int]]:
    """Lanes that interleave groups of `distance` from the
    lower, or upper, halves of each 128 bits of two vectors.
    """
    halves: list[list[int]] = [[], []]
    for base in range(0, side, inside):
        for half in range(2):
            for p in range(base + half * inside // 2, base + (half + 1) * inside // 2, distance):
                for source in (0, side):
                    halves[half] += range(p + source, p + source + distance)
    return halves[0], halves[1]
