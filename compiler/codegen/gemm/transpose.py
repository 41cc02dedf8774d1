"""Squares of elements turned around in registers, so that rows and columns of memory change places.

`turn` is for operands that are packed. `turned` is for few columns and a long sum that runs along the rows
of a, as in the last layer of a classifier: ten columns would leave a third of every vector empty. So b,
which is small, is turned around first. Then both operands run along the sum, and so do the vectors of the
product, which is one of `dot_sums` (`narrow_results.py`).
"""

from __future__ import annotations

import functools
from dataclasses import replace

from staticgraph.compiler.codegen.abi import Phase
from staticgraph.compiler.codegen.gemm.chunks import chunks_wanted, cut
from staticgraph.compiler.codegen.gemm.loops import Cursor, open_sizes, parameters
from staticgraph.compiler.codegen.gemm.micro_kernel import WIDE, read_lanes
from staticgraph.compiler.codegen.gemm.packed_operands import aligned
from staticgraph.compiler.codegen.gemm.register_tile import Stream
from staticgraph.compiler.codegen.gemm.tiles import VALID, TilePiece, row_products
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.codegen.llvm.text import Code, memory_type, vector
from staticgraph.compiler.codegen.target import CpuTarget
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.contraction import Access, Contraction, closed, count
from staticgraph.compiler.kernel.expr import Index
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Turner:
    """A function that turns around a piece of a panel: lane l of step s comes from `from[l * way + s]`, and
    goes to `to[s * pitch + l]`.

    Distances and the number of steps are arguments, so that products of all sizes share the function.

    Attributes:
        dtype: The type of the elements.
        to: The type that they are converted to.
        piece: The piece, which begins at 0. If its number of lanes is open, it is an argument, too, and the
            last one is repeated in the lanes that do not exist.
        few: The number of steps if these are no whole square, 0 for more, None if that is not known.
    """

    dtype: DType
    to: DType
    piece: TilePiece
    few: int | None

    def code(self) -> Code:
        """The function: squares of steps. The last square ends with the last step, so that it needs no code
        of its own; some of its steps are those of the square before.
        """
        w, dtype, to, piece = GemmWriter(), self.dtype, self.to, self.piece
        side = max(piece.width, 16 // to.size)
        end = w.mul(w.add(VALID, -1), "%way") if isinstance(piece.valid, str) else None
        columns, rows = _Multiples(w, "%way", piece.stop, end), _Multiples(w, "%pitch", side)

        def block(k: Number, steps: int) -> None:
            at = columns.addresses(w.address("%from", k, dtype), piece.stop, dtype)
            square = ["zeroinitializer"] * side
            for c, pointer in enumerate(at):
                square[c] = w.convert(w.load(pointer, dtype, side, steps), dtype, to, side)
            places = rows.addresses(w.address("%to", w.mul(k, "%pitch"), to), steps, to)
            for place, row in zip(places, transpose(w, square, to), strict=False):
                w.store(w.lanes(row, to, side, 0, piece.width), place, to, piece.width, piece.width)

        def single(k: Number) -> None:
            x = read_lanes(w, w.address("%from", k, dtype), Stream(dtype, 0, "%way"), piece)
            place = w.address("%to", w.mul(k, "%pitch"), to)
            w.store(w.convert(x, dtype, to, piece.width), place, to, piece.width, piece.width)

        def squares() -> None:
            last = w.add("%count", -side)
            w.each(0, "%count", side, lambda k: block(w.minimum(k, last), side))

        if self.few is None:
            enough = w.value(f"icmp sge i64 %count, {side}")
            w.either(enough, squares, lambda: w.each_of("%count", single))
        elif self.few:
            block(0, self.few)
        else:
            squares()
        return w.finish(["ptr noalias %from", "ptr noalias %to", *_NUMBERS, f"i64 {VALID}"], attributes=WIDE)


_NUMBERS = ("i64 %way", "i64 %pitch", "i64 %count")
_written = functools.lru_cache(256)(Turner.code)


class _Multiples:
    """Addresses by multiples of a distance, less than `count`: in fours, so that few registers hold them."""

    def __init__(self, w: GemmWriter, distance: str, count: int, last: Number | None = None) -> None:
        self._w, self._distance, self._last = w, distance, last
        self._fine = [w.mul(n, distance) for n in range(min(4, count))]
        self._coarse = [w.mul(n, distance) for n in range(0, count, 4)]

    def addresses(self, pointer: str, count: int, dtype: DType) -> list[str]:
        """The first `count` addresses; after the last multiple, its own is repeated."""
        w = self._w
        if self._last is not None:
            ways = [w.minimum(w.mul(n, self._distance), self._last) for n in range(count)]
            return [w.address(pointer, way, dtype) for way in ways]
        groups = [w.address(pointer, way, dtype) for way in self._coarse[: -(-count // 4)]]
        return [w.address(groups[n // 4], self._fine[n % 4], dtype) for n in range(count)]


def turn(
    w: GemmWriter,
    stream: Stream,
    piece: TilePiece,
    to: DType,
    source: str,
    target: str,
    pitch: Number,
    count: Number,
) -> None:
    """Call the function that turns around one piece, `count` steps of it."""
    at_run_time = isinstance(piece.valid, str)
    side = max(piece.width, 16 // to.size)
    few = (count if count < side else 0) if isinstance(count, int) else None
    plain = replace(piece, start=0, valid=VALID if at_run_time else piece.valid)
    numbers = (stream.lane, pitch, count, piece.valid if at_run_time else 0)
    arguments = [("i64", str(w.number(n))) for n in numbers]
    code = _written(Turner(stream.dtype, to, plain, few))
    w.call_shared(code, ("ptr", source), ("ptr", target), *arguments)


def transpose(w: GemmWriter, rows: list[str], dtype: DType) -> list[str]:
    """The columns of a square of vectors: interleaving inside 128-bit lanes, then exchange of whole lanes."""
    side, inside = len(rows), 16 // dtype.size
    kind = vector(memory_type(dtype), side)

    def shuffle(x: str, y: str, lanes: list[int]) -> str:
        return w.shuffle(kind, lanes, x, y)

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


_ADDING = 6  # to add up the lanes of a vector of sums, in multiply-adds
_TURNING = 0.75  # to turn an element of b around


@dataclass(frozen=True, slots=True)
class Turned:
    """The contraction that reads the transposed b, which lies in the first `shared_bytes` of shared memory.
    `turning_phase` transposes it.
    """

    contraction: Contraction
    shared_bytes: int


def turned(c: Contraction, target: CpuTarget) -> Turned | None:
    """`c` with b turned around, if it is worth it."""
    lanes = target.lanes([c.dtype])
    if c.open_sum or c.open_columns or c.column_count == 1:
        return None
    if len(c.k) != 1 or c.limits or c.outer_of_b or c.a.step(c.lanes) or c.a.step(c.k[0]) != 1:
        return None
    if isinstance(c.b.stride(c.k[0]), Size):
        return None
    if c.b.step(c.lanes) != 1 or c.column_count + 3 > target.registers or not _pays(c, lanes):
        return None
    (k,), dtype = c.k, c.dtype
    pitch = _pitch(k, lanes)
    place = Access("", dtype, 0, {c.lanes: pitch, k: 1})
    return Turned(replace(c, b=place), aligned(c.column_count * pitch * dtype.size))


def _pitch(k: Index, lanes: int) -> int:
    """Elements between the columns of b, transposed: whole vectors."""
    return -(-closed(k) // lanes) * lanes


def _pays(c: Contraction, lanes: int) -> bool:
    columns, rows = c.column_count, c.row_count
    for index in c.outer:
        rows *= count(index)
    along = rows * columns * (-(-c.depth // lanes) + _ADDING) + _TURNING * columns * c.depth
    return along <= rows * row_products(columns, lanes) * c.depth


def turning_phase(c: Contraction, target: CpuTarget) -> Phase:
    """The phase that transposes b: squares of it, shared out by steps of the sum."""
    w, (k,) = GemmWriter(open_sizes(c)), c.k
    lanes, columns = target.lanes([c.dtype]), c.column_count
    pitch = _pitch(k, lanes)
    blocks, rest = divmod(closed(k), lanes)
    grid = cut((blocks + (rest > 0),), chunks_wanted(CPU.turned_ns * columns * c.depth))
    (span,) = grid.spans(w)
    at = Cursor.at_start(w, c, {"from": c.b, "to": Access("", c.dtype, 0, {})}).at

    def square(block: Number, valid: int) -> None:
        stream = Stream(c.b.dtype, 0, c.b.step(k))
        first = w.mul(block, lanes)
        source = w.address(at["from"], w.mul(first, c.b.step(k)), c.b.dtype)
        result = w.address(at["to"], first, c.dtype)
        turn(w, stream, TilePiece(0, lanes, valid), c.dtype, source, result, pitch, columns)

    if blocks:
        span.within(w, 0, blocks, lambda n: square(n, lanes))
    if rest:
        span.within(w, blocks, 1, lambda n: square(n, rest))
    return Phase(w.finish(parameters(c)), grid.chunks, c.arguments(c.b))
