"""The work of a contraction cut into chunks, which threads take in any order.

A chunk is a box: a range of each outer index, of the tiles of rows and of the panels of columns. How the box
is cut follows from the shapes and the target alone, so that the results do not depend on who computes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from staticgraph.compiler.codegen.gemm.tiles import PanelRun
from staticgraph.compiler.codegen.gemm.writer import GemmWriter, Number
from staticgraph.compiler.graph.sizes import Size, same
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import dataclass

_EVEN = 16  # chunks that share out evenly among a few threads
_ODD = 8  # one more part for so many, to have an even number
_MOST = 128  # to ask for; up to twice as many may come out


def chunks_wanted(nanoseconds: float) -> int:
    """Into how many chunks work should be cut that takes one core so long.

    >>> [chunks_wanted(n) for n in (9_000, 50_000, 200_000, 1_000_000, 1e9)]
    [1, 10, 16, 20, 128]
    """
    short, long = CPU.product_chunk_ns
    if nanoseconds < 2 * short:
        return 1
    return min(_MOST, max(int(nanoseconds / long), min(_EVEN, int(nanoseconds / short))))


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

    parts: int


@dataclass(frozen=True, slots=True)
class Grid:
    """A chunk for every combination of parts, those of the last dimension next to each other."""

    dimensions: tuple[ChunkPart | OpenPart, ...]

    @property
    def chunks(self) -> int:
        """Their number."""
        return math.prod(d.parts for d in self.dimensions)

    def spans(self, w: GemmWriter, unknown: Sequence[Number] = ()) -> list[IndexRange]:
        """Write code for the range that chunk `%chunk` has in every dimension; return the ranges. The open
        dimensions have as many numbers as `unknown` says.
        """
        spans, rest = [], "%chunk"
        left, counts = self.chunks, list(unknown)
        for d in reversed(self.dimensions):
            count = counts.pop() if isinstance(d, OpenPart) else d.count
            if same(d.parts, 1):
                spans.append(IndexRange(0, count, count))
                continue
            left //= d.parts
            digit = rest if same(left, 1) else w.value(f"urem i64 {rest}, {w.number(d.parts)}")
            rest = rest if same(left, 1) else w.value(f"udiv i64 {rest}, {w.number(d.parts)}")
            if isinstance(d, OpenPart):
                border = w.mul(digit, count)
                first, after = (w.quotient(n, d.parts) for n in (border, w.add(border, count)))
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
    for count in counts:
        dimensions.append(split(count, wanted))
        wanted = -(-wanted // dimensions[-1].parts)
    return Grid(tuple(dimensions))
