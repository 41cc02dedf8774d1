"""Copying operands of a contraction into the order in which the micro-kernels read them.

A panel of b becomes `pitch` neighbouring elements per step of the sum, zeros in the lanes that do not exist,
so that the micro-kernel reads whole vectors one after the other. Where b runs along the sum in memory instead
(the second operand of a product is transposed), square blocks are turned around in registers. A tile of a is
packed as if its rows were the lanes of a panel, where neighbouring rows share cache lines and steps do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from staticgraph.compiler.codegen.gemm.chunks import Grid, IndexRange, chunks_wanted, cut, each_panel
from staticgraph.compiler.codegen.gemm.loops import Cursor, each, open_sizes
from staticgraph.compiler.codegen.gemm.micro_kernel import read_lanes
from staticgraph.compiler.codegen.gemm.packed_operands import Packed
from staticgraph.compiler.codegen.gemm.register_tile import Stream
from staticgraph.compiler.codegen.gemm.tiles import PanelRun, TilePiece, pages_apart
from staticgraph.compiler.codegen.gemm.transpose import turn
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.graph.sizes import Size
from staticgraph.compiler.kernel.contraction import Access, Contraction, closed
from staticgraph.compiler.kernel.stmt import ALIGNMENT
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_STEPS = 8  # of panels that are packed side by side


def packing_grid(c: Contraction, operand: Access, packed: Packed) -> Grid:
    """The chunks of the phase that packs an operand for all values of the outer indices."""
    counts = [closed(i) for i in c.outer if operand.step(i)]
    return cut((*counts, packed.count), chunks_wanted(CPU.packed_ns * c.size(operand)))


def pack_all(c: Contraction, operand: Access, packed: Packed, grid: Grid) -> GemmWriter:
    """Write the code that packs an operand for all values of the outer indices."""
    assert packed.shared is not None
    w, steps = GemmWriter(open_sizes(c)), [closed(i) for i in c.k]
    indices = [i for i in c.outer if operand.step(i)]
    whole = Stream(operand.dtype, 0, packed.lane, tuple(operand.stride(i) for i in c.k))
    *outer, span = grid.spans(w)

    def here(cursor: Cursor) -> None:
        pack_span(w, packed, whole, steps, cursor.at["from"], cursor.at["to"], span, 0)

    start = Cursor.at_start(w, c, {"from": operand, "to": packed.shared})
    each(w, list(zip(indices, outer, strict=True)), start, here)
    return w


def pack_span(
    w: GemmWriter,
    packed: Packed,
    stream: Stream,
    counts: Sequence[Number],
    source: str,
    target: str,
    span: IndexRange,
    first: Number,
) -> None:
    """Pack the panels of a span, `counts` steps along each index of the sum. `target` is the place of panel
    `first`.
    """

    def steps(counts: Sequence[Number], source: str, target: str) -> None:
        def one(run: PanelRun, n: Number, column: Number, way: Number) -> None:
            number = w.add(n, w.mul(first, -1))
            place = w.address(target, w.add(w.mul(number, packed.elements), way), packed.dtype)
            at = w.address(source, w.mul(column, stream.lane), stream.dtype)
            pack(w, packed, stream, counts, at, place, run.pieces)

        each_panel(w, span, packed.panels, packed.extent, one)

    whole_lines = packed.pitch * packed.dtype.size % ALIGNMENT == 0
    step = stream.k[-1] if counts else 0
    far = not isinstance(step, str | Size) and pages_apart(step, stream.dtype)
    if packed.turned or whole_lines or not counts or not far:
        steps(counts, source, target)
        return

    def block(k: Number) -> None:
        count = w.minimum(_STEPS, w.add(counts[-1], w.mul(k, -1)))
        at = w.address(source, w.mul(k, stream.k[-1]), stream.dtype)
        place = w.address(target, w.mul(k, packed.numbers[-1] * packed.pitch), packed.dtype)
        steps((*counts[:-1], count), at, place)

    # Neighbouring panels have cache lines in common, and those of different steps fight for the same places.
    w.when_less(0, counts[-1], lambda: w.each(0, counts[-1], _STEPS, block))


def pack(
    w: GemmWriter,
    packed: Packed,
    stream: Stream,
    counts: Sequence[Number],
    source: str,
    target: str,
    pieces: tuple[TilePiece, ...],
) -> None:
    """Pack one panel."""
    copy = _pack_turned if packed.turned else _pack_panel
    copy(w, packed, stream, pieces, _Steps(tuple(counts), packed.numbers), source, target)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of the sum to pack: how many along each index, and how far apart their numbers are."""

    counts: tuple[Number, ...]
    numbers: tuple[int, ...]


def _pack_panel(
    w: GemmWriter,
    packed: Packed,
    stream: Stream,
    pieces: tuple[TilePiece, ...],
    steps: _Steps,
    source: str,
    target: str,
) -> None:
    """For every step, copy the elements of all pieces."""
    to = packed.dtype

    def copy(at: str, step: Number) -> None:
        for piece in pieces:
            first = w.address(at, w.mul(piece.start, stream.lane), stream.dtype)
            x = read_lanes(w, first, stream, piece)
            x = w.convert(x, stream.dtype, to, piece.width)
            place = w.address(target, w.add(w.mul(step, packed.pitch), piece.start), to)
            w.store(x, place, to, piece.width, piece.width)

    def line(at: str, first: Number) -> None:
        if not steps.counts:
            copy(at, first)
            return
        move = stream.k[-1]
        w.each_of(
            steps.counts[-1], lambda k: copy(w.address(at, w.mul(k, move), stream.dtype), w.add(first, k))
        )

    _lines(w, stream, steps, source, line)


def _pack_turned(
    w: GemmWriter,
    packed: Packed,
    stream: Stream,
    pieces: tuple[TilePiece, ...],
    steps: _Steps,
    source: str,
    target: str,
) -> None:
    """Copy elements that are neighbours along the innermost index of the sum."""
    to, pitch, count = packed.dtype, packed.pitch, steps.counts[-1]
    for piece in pieces:

        def line(at: str, step: Number, piece: TilePiece = piece) -> None:
            place = w.address(target, w.add(w.mul(step, pitch), piece.start), to)
            turn(w, stream, piece, to, at, place, pitch, count)

        _lines(w, stream, steps, w.address(source, w.mul(piece.start, stream.lane), stream.dtype), line)


def _lines(
    w: GemmWriter, stream: Stream, steps: _Steps, source: str, body: Callable[[str, Number], None]
) -> None:
    """`body(address, number of the first step)` for every
    run of steps along the innermost index of the sum.
    """

    def level(depth: int, at: str, step: Number) -> None:
        if depth >= len(steps.counts) - 1:
            body(at, step)
            return

        def inner(k: Number) -> None:
            moved = w.address(at, w.mul(k, stream.k[depth]), stream.dtype)
            level(depth + 1, moved, w.add(step, w.mul(k, steps.numbers[depth])))

        w.each_of(steps.counts[depth], inner)

    level(0, source, 0)
