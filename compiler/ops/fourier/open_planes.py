"""Fourier transforms over several axes whose lengths are known when a program runs: one kernel for all axes.

Code for a transform is long, so that there is one loop of axes around it, from the first axis to the last.
All are transformed as strips of columns. Only what comes before and after that differs: rows of the last axis
become columns, and rows again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType, merge
from staticgraph.compiler.graph.sizes import AnySize, at_least, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr, Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Span, Store
from staticgraph.compiler.ops.fourier.butterflies import parts
from staticgraph.compiler.ops.fourier.open_passes import Passes, Put
from staticgraph.compiler.ops.fourier.open_plan import Plan
from staticgraph.compiler.ops.fourier.open_stages import (
    STRIP,
    TILE,
    TURNED,
    WORK,
    Point,
    Points,
    between,
    tiles_of,
    transposed_tile,
)
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.strips import Body, Fresh, whole

_GROUPS = 8  # of strips that are transformed at the same time
_MOST = 1 << 60  # no memory has so many numbers
_HELD = "held"  # what all rounds but the last one leave


def _planes_type(x: TensorType, sizes: Sequence[AnySize | None] | None, inverse: bool = False) -> TensorType:
    require(x.rank in (None, 1), f"x has rank {x.rank}, and must be flat")
    points = None if sizes is None or None in sizes else math.prod(sizes)  # type: ignore[arg-type]
    return TensorType(x.dtype, merge(x.shape, (points,), "x and the product of sizes:"))


def _numpy_planes(x: np.ndarray, sizes: Sequence[int], inverse: bool = False) -> np.ndarray:
    if not x.size:
        return x.copy()
    transform = np.fft.ifftn if inverse else np.fft.fftn
    return transform(x.reshape(sizes), axes=range(1, len(sizes))).astype(x.dtype).reshape(-1)


@routine(
    type=_planes_type, numpy=_numpy_planes, dtypes=COMPLEX, differentiable=False,
    operands=("sizes",), partial=("sizes",),
    samples=[
        Sample(real(2 * 12 * 5), sizes=(2, 12, 5)),
        Sample(real(17 * 20), sizes=(1, 17, 20), inverse=True),
        Sample(real(2 * 3 * 4 * 5), sizes=(2, 3, 4, 5)),
        Sample(real(0), sizes=(1, 0, 5)),
    ],
)  # fmt: skip
def open_fft_planes(
    outs: tuple[Out, ...], x: View, *, sizes: Sequence[AnySize], inverse: bool = False
) -> Described | tuple[()]:
    """Fourier transforms of flat data over all of `sizes` but the first; with `inverse` their inverses."""
    (out,) = outs
    if any(same(size, 0) for size in (*sizes, *x.shape)):
        return ()
    return _Planes(out, x, sizes, inverse).described()


class _Planes:
    """The statements of the transform.

    A round has the `n` points of its axis in each of `columns`, and that in each row of a batch. The columns
    of the last round are the rows of everything.
    """

    def __init__(self, out: Out, x: View, sizes: Sequence[AnySize], inverse: bool) -> None:
        self.out, self.x, self.inverse = out, x, inverse
        (self.batch, *self.sizes), (self.total,) = sizes, x.shape
        self.longest = functools.reduce(_greater, self.sizes)
        self.fresh, self.dtype = Fresh(), out.dtype.real_dtype
        self.round = Index("round", len(self.sizes))
        new = self.fresh.local
        self.n, self.columns, self.width, self.start = (
            new(name, int64) for name in ("n", "columns", "width", "start")
        )
        self.scale = new("scale", self.dtype)
        self.points = Points(self.longest, self.width, self.dtype, self.fresh)
        self.is_last = scalar.eq(self.round, len(self.sizes) - 1)

    def described(self) -> Described:
        """Return the statements and the memory that they use."""
        count = self.fresh.local("count", int64)  # the tables are a phase of its own
        tables = Plan(self.longest, count, self.dtype, self.fresh, of_rows=False)
        plan = Plan(self.longest, self.n, self.dtype, self.fresh, of_rows=False)
        passes = Passes(self.points, plan, self._fill, self._finish)
        body = Let(count, self._of_round(self.sizes)), *tables.body(), self._strips(passes)
        held = Buffer(self.out.dtype, (self.total,), written=True, shared=True)
        scratch = plan.scratch() | passes.scratch | tiles_of(self.points) | {_HELD: held}
        return Described((Loop(self.round, body),), scratch=scratch)

    def _of_round(self, values: Sequence[AnySize]) -> Expr:
        """That of the axis of a round, given one for each axis."""
        found: Expr = whole(values[-1])
        for number, value in enumerate(values[:-1]):
            found = scalar.select(scalar.eq(self.round, number), whole(value), found)
        return found

    def _strips(self, passes: Passes) -> Loop:
        """All strips, in groups that may run at the same time."""
        group, turn = Index("group", _GROUPS), Index("turn", self.total)
        strips, number, row, first = (
            self.fresh.local(name, int64) for name in ("strips", "number", "row", "first")
        )
        rank = len(self.sizes)
        batches = [math.prod((self.batch, *self.sizes[:k])) for k in range(rank)]
        batch = self._of_round([*batches[:-1], 1])
        columns = self._of_round([*(math.prod(self.sizes[k + 1 :]) for k in range(rank - 1)), batches[-1]])
        begin = row * self.n * self.columns
        inside: Body = (
            Let(number, turn * _GROUPS + group),
            Let(row, scalar.truncdiv(number, strips)),
            Let(first, (number - row * strips) * STRIP),
            Let(self.width, between(self.columns - first, 0, STRIP)),
            Let(self.start, scalar.select(self.is_last, first * self.n, begin + first)),
            If(row < batch, passes.body()),
        )
        last = scalar.minimum(
            scalar.truncdiv(batch * strips + (_GROUPS - 1), _GROUPS), whole(self.total)
        )
        begun: Body = (
            Let(self.n, between(self._of_round(self.sizes), 0, self.longest)),
            Let(self.columns, columns),
            Let(strips, scalar.maximum(scalar.truncdiv(self.columns + (STRIP - 1), STRIP), 1)),
            Let(self.scale, 1.0 / scalar.cast(self.n, self.dtype)),
        )
        turns = Loop(turn, inside, share=Span(whole(0), last))
        return Loop(group, (*begun, *passes.begun(), turns), LoopKind.PARALLEL)

    def _fill(self, put: Put) -> Body:
        zero = whole(0)

        def given(p: Expr, place: Expr, at: Expr) -> Body:
            return put(p, place, self._turned(parts(self.x[at])))

        def held(p: Expr, place: Expr, at: Expr) -> Body:
            return put(p, place, self._turned(parts(self._held(at))))

        def read(r: Expr, lane: Expr, at: Expr) -> Body:
            value = self._turned(parts(self._held(at)))
            return tuple(Store(TILE, (whole(k), r, lane), v) for k, v in enumerate(value))

        def write(p: Expr, j: Expr, lane: Expr, place: Expr) -> Body:
            return put(p, place, self._of_tile(j, lane))

        def tile(start: Expr, height: Expr, first: Expr, width: Expr) -> Body:
            return (
                self._rows(start, height, first, width, read),
                transposed_tile(self.points),
                self._lines(zero, start, height, first, width, write),
            )

        is_first = scalar.eq(self.round, 0)
        made = If(is_first, (self._columns(zero, given),)), If(self.is_last, (self._tiles(tile),))
        between_them = If(~is_first & ~self.is_last, (self._columns(zero, held),))
        return made if len(self.sizes) == 2 else (*made, between_them)

    def _finish(self, side: Expr) -> Body:
        def store(name: str, at: Expr, value: Point) -> Store:
            re, im = self._turned(value)
            scaled = (re * self.scale, im * self.scale) if self.inverse else value
            return Store(name, (at,), scalar.complex(*scaled))

        def point(p: Expr, place: Expr, at: Expr) -> Body:
            return (store(_HELD, at, self.points.get(WORK, place)),)

        def read(p: Expr, j: Expr, lane: Expr, place: Expr) -> Body:
            value = self.points.get(WORK, place)
            return tuple(Store(TILE, (whole(k), j, lane), v) for k, v in enumerate(value))

        def write(r: Expr, lane: Expr, at: Expr) -> Body:
            return (store(self.out.buffer, at, self._of_tile(r, lane)),)

        def tile(start: Expr, height: Expr, first: Expr, width: Expr) -> Body:
            return (
                self._lines(side, start, height, first, width, read),
                transposed_tile(self.points),
                self._rows(start, height, first, width, write),
            )

        return If(self.is_last, (self._tiles(tile),)), If(~self.is_last, (self._columns(side, point),))

    def _held(self, at: Expr) -> Expr:
        return Load(_HELD, (at,), self.out.dtype)

    def _place(self, at: Expr) -> Expr:
        """A place in all data. It is told that sums of places do not overflow."""
        return scalar.minimum(between(at, 0, self.total), _MOST)

    def _turned(self, value: Point) -> Point:
        """A number, or its conjugate if the transform is the inverse."""
        return (value[0], -value[1]) if self.inverse else value

    def _of_tile(self, line: Expr, lane: Expr) -> Point:
        re, im = (Load(TURNED, (whole(k), line, lane), self.dtype) for k in range(2))
        return re, im

    def _columns(self, side: Expr, body: Callable[[Expr, Expr, Expr], Body]) -> Loop:
        """Do `body(point, place, at)` for all points of a strip of columns."""
        points, fresh = self.points, self.fresh

        def row(p: Index) -> Body:
            begin, at = fresh.local("begin", int64), fresh.local("at", int64)
            lanes = points.lanes(self.width, STRIP, lambda c: body(p, begin + c, at + c))
            return (
                Let(begin, between(side + p * self.width, 0, points.size * 2)),
                Let(at, self._place(self.start + p * self.columns)),
                If(
                    (begin + self.width <= whole(points.size * 2)) & (at + self.width <= whole(self.total)),
                    (lanes,),
                ),
            )

        return fresh.between(0, self.n, points.most, row, "point")

    def _tiles(self, body: Callable[[Expr, Expr, Expr, Expr], Body]) -> Loop:
        """Do `body(start, height, first, width)` for tiles of points of a strip of rows.

        They change places by shuffles, so that both sides are read and written in cache lines.
        """
        fresh, tile = self.fresh, self.points.tile

        def block(number: Index) -> Body:
            start, height = number * tile, fresh.local("height", int64)

            def square(k: Index) -> Body:
                first, width = k * tile, fresh.local("width", int64)
                return Let(width, between(self.width - first, 0, tile)), *body(start, height, first, width)

            count = (self.width + (tile - 1)) // tile
            return (
                Let(height, between(self.n - start, 0, tile)),
                fresh.between(0, count, STRIP // tile, square, "square"),
            )

        return fresh.between(0, (self.n + (tile - 1)) // tile, self.points.most // tile, block, "block")

    def _rows(
        self, start: Expr, height: Expr, first: Expr, width: Expr, body: Callable[[Expr, Expr, Expr], Body]
    ) -> Loop:
        """Do `body(row, lane, at)` for all of a tile, as it lies in `x` and in the result."""
        points, fresh = self.points, self.fresh

        def row(r: Index) -> Body:
            at = fresh.local("at", int64)
            lanes = points.lanes(height, points.tile, lambda lane: body(r, lane, at + lane))
            return (
                Let(at, self._place(self.start + (first + r) * self.n + start)),
                If(at + height <= whole(self.total), (lanes,)),
            )

        return fresh.between(0, width, points.tile, row, "row")

    def _lines(
        self,
        side: Expr,
        start: Expr,
        height: Expr,
        first: Expr,
        width: Expr,
        body: Callable[[Expr, Expr, Expr, Expr], Body],
    ) -> Loop:
        """Do `body(point, line, lane, place)` for all of a tile, as it lies in the planes of a strip."""
        points, fresh = self.points, self.fresh

        def line(j: Index) -> Body:
            begin = fresh.local("begin", int64)
            lanes = points.lanes(width, points.tile, lambda lane: body(start + j, j, lane, begin + lane))
            return (
                Let(begin, between(side + (start + j) * self.width + first, 0, points.size * 2)),
                If(begin + width <= whole(points.size * 2), (lanes,)),
            )

        return fresh.between(0, height, points.tile, line, "line")


def _greater(a: AnySize, b: AnySize) -> AnySize:
    return a + at_least(b - a, 0)
