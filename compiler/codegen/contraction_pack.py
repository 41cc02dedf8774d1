"""Copying operands of a contraction into the order in which the micro-kernels read them.

A panel of b becomes `pitch` neighbouring elements per step of the sum, zeros in the
lanes that do not exist, so that the micro-kernel reads whole vectors one after the
other. Where b runs along the sum in memory instead (the second operand of a product
is transposed), square blocks are turned around in registers. A tile of a becomes one
short stretch of memory, where rows far apart would fight for the same cache lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from staticgraph.compiler.codegen.contraction_kernel import WIDE, Stream, read_lanes
from staticgraph.compiler.codegen.contraction_tiles import Piece
from staticgraph.compiler.codegen.contraction_writer import Number, Writer
from staticgraph.compiler.codegen.llvm_text import memory_type, vector
from staticgraph.compiler.graph.dtypes import DType


def pack_panel(
    w: Writer,
    source: str,
    stream: Stream,
    pieces: tuple[Piece, ...],
    counts: tuple[Number, ...],
    target: str,
    to: DType,
) -> None:
    """Copy a panel of b: for every step, the elements of all pieces."""
    pitch = sum(p.width for p in pieces)

    def copy(at: str, step: Number) -> None:
        for piece in pieces:
            x = read_lanes(w, w.address(at, piece.start * stream.lane, stream.dtype), stream, piece)
            x = w.convert(x, stream.dtype, to, piece.width)
            w.store(
                x, w.address(target, w.add(w.mul(step, pitch), piece.start), to), to, piece.width, piece.width
            )

    _steps(w, stream, counts, source, copy)


def pack_turned(
    w: Writer,
    source: str,
    stream: Stream,
    pieces: tuple[Piece, ...],
    counts: tuple[Number, ...],
    target: str,
    to: DType,
) -> None:
    """Copy a panel of b whose elements are neighbours along the innermost index of the sum."""
    pitch = sum(p.width for p in pieces)
    for piece in pieces:
        symbol, needs = _turner(stream, replace(piece, start=0), counts[-1], to)
        for need in needs:
            w.need(need)

        def line(at: str, step: Number, symbol: str = symbol, piece: Piece = piece) -> None:
            place = w.address(target, w.add(w.mul(step, pitch), piece.start), to)
            w.line(f"call void {symbol}(ptr {at}, ptr {place}, i64 {pitch}, i64 {counts[-1]})")

        _lines(w, stream, counts, w.address(source, piece.start * stream.lane, stream.dtype), line)


def _turner(stream: Stream, piece: Piece, count: Number, to: DType) -> tuple[str, tuple[str, ...]]:
    """A helper function that copies one piece for neighbouring
    steps: square blocks, and what is left of the steps.
    """
    w, side, dtype = Writer(), max(piece.width, 16 // to.size), stream.dtype

    def block(k: Number, steps: int) -> None:
        at, columns = w.address("%from", k, dtype), ["zeroinitializer"] * side
        for c in range(piece.valid):
            column = w.load(w.address(at, c * stream.lane, dtype), dtype, side, steps)
            columns[c] = w.convert(column, dtype, to, side)
        for u, row in enumerate(transpose(w, columns, to)[:steps]):
            row = _first_lanes(w, row, to, side, piece.width)
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
        _if_less(w, 0, whole, lambda: w.each(0, whole, side, lambda k: block(k, side)))
        _if_less(w, whole, "%count", lambda: w.each(whole, "%count", 1, single))
    symbol, text = w.helper(("ptr noalias %from", "ptr noalias %to", "i64 %pitch", "i64 %count"), WIDE)
    return symbol, (*w.needs, text)


def pack_tile(
    w: Writer,
    source: str,
    stream: Stream,
    rows: int,
    counts: tuple[Number, ...],
    target: str,
    row_pitch: int,
    lanes: int,
) -> None:
    """Copy a tile of a: row after row if `row_pitch` is given, else the rows of each step side by side."""
    dtype = stream.dtype
    if not row_pitch:
        chunks = _chunks(rows, lanes)

        def side_by_side(at: str, step: Number) -> None:
            for start, width in chunks:
                x = w.load(w.address(at, start, dtype), dtype, width, width)
                w.store(x, w.address(target, w.add(w.mul(step, rows), start), dtype), dtype, width, width)

        _steps(w, stream, counts, source, side_by_side)
        return

    def row(r: Number) -> None:
        place = w.address(target, w.mul(r, row_pitch), dtype)
        _lines(w, stream, counts, w.address(source, w.mul(r, stream.row), dtype), lambda at, step: _copy_line(
            w, at, w.address(place, step, dtype), dtype, counts[-1], lanes))  # fmt: skip

    w.each(0, rows, 1, row)


def _copy_line(w: Writer, source: str, target: str, dtype: DType, count: Number, lanes: int) -> None:
    """Copy neighbouring elements, vector by vector and then one by one."""

    def copy(width: int) -> Callable[[Number], None]:
        def one(k: Number) -> None:
            x = w.load(w.address(source, k, dtype), dtype, width, width)
            w.store(x, w.address(target, k, dtype), dtype, width, width)

        return one

    even: Number = count // lanes * lanes if isinstance(count, int) else w.value(f"and i64 {count}, {-lanes}")
    _if_less(w, 0, even, lambda: w.each(0, even, lanes, copy(lanes)))
    _if_less(w, even, count, lambda: w.each(even, count, 1, copy(1)))


def transpose(w: Writer, rows: list[str], dtype: DType) -> list[str]:
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


def _first_lanes(w: Writer, value: str, dtype: DType, width: int, count: int) -> str:
    kind = memory_type(dtype)
    if count == width:
        return value
    if count == 1:
        return w.value(f"extractelement {vector(kind, width)} {value}, i64 0")
    lanes = ", ".join(f"i32 {lane}" for lane in range(count))
    wide = vector(kind, width)
    return w.value(f"shufflevector {wide} {value}, {wide} poison, <{count} x i32> <{lanes}>")


def _chunks(extent: int, lanes: int) -> list[tuple[int, int]]:
    """`extent` as starts and widths of whole vectors: powers of two, the wide ones first."""
    out, start = [], 0
    while start < extent:
        width = min(lanes, 1 << ((extent - start).bit_length() - 1))
        out.append((start, width))
        start += width
    return out


def _steps(
    w: Writer, stream: Stream, counts: tuple[Number, ...], source: str, body: Callable[[str, Number], None]
) -> None:
    """`body(address, number of the step)` for every step of the sum."""

    def line(at: str, step: Number) -> None:
        if counts:
            move = stream.k[-1]
            w.each(
                0, counts[-1], 1, lambda k: body(w.address(at, w.mul(k, move), stream.dtype), w.add(step, k))
            )
        else:
            body(at, step)

    _lines(w, stream, counts, source, line)


def _lines(
    w: Writer, stream: Stream, counts: tuple[Number, ...], source: str, body: Callable[[str, Number], None]
) -> None:
    """`body(address, number of the first step)` for every
    run of steps along the innermost index of the sum.
    """

    def level(depth: int, at: str, step: Number) -> None:
        if depth >= len(counts) - 1:
            body(at, step)
            return
        inside: Number = 1
        for count in counts[depth + 1 :]:
            inside = w.mul(inside, count)

        def inner(k: Number) -> None:
            moved = w.address(at, w.mul(k, stream.k[depth]), stream.dtype)
            level(depth + 1, moved, w.add(step, w.mul(k, inside)))

        w.each(0, counts[depth], 1, inner)

    level(0, source, 0)


def _if_less(w: Writer, a: Number, b: Number, body: Callable[[], None]) -> None:
    """`body()` where a < b."""
    if isinstance(a, int) and isinstance(b, int):
        if a < b:
            body()
        return
    some, after = w.label(), w.label()
    w.branch_if(w.value(f"icmp slt i64 {a}, {b}"), some, after)
    w.start(some)
    body()
    w.branch(after)
    w.start(after)
