"""Fourier transforms over several axes whose lengths are known when a program runs: one kernel for all axes.

Code for a transform is long, so that there is one loop of axes around it, from the last axis to the first.
All are transformed as strips of columns, each in its place. Only what comes before and after that differs:
rows of the last axis become columns, and rows again. `open_real_planes.py` has those of real numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, DType, complex64, complex128, float32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType, merge
from staticgraph.compiler.graph.sizes import AnySize, at_least, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr, Index, Load
from staticgraph.compiler.kernel.stmt import If, Let, Loop, LoopKind, Span, Store
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
from staticgraph.compiler.ops.statements.strips import Body, Fresh, Scratch, whole

_GROUPS = 8  # of strips that are transformed at the same time
_MOST = 1 << 60  # no memory has so many numbers
Side = Callable[[Expr, Expr, Expr, Expr], Body]  # takes a tile: its first point and row, and how many


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
    return Planes(out, x, sizes, sizes[-1], inverse).described()


class Planes:
    """The statements of the transform.

    A round has the `n` points of its axis in each of `columns`, and that in each row of a batch. In the round
    of rows, the columns are the rows of everything. Between rounds, each of them has `places` numbers.
    """

    rows_first = True  # else they come last
    held: str  # the buffer that rounds read, but for the first one, and write, but for the last one

    def __init__(
        self, out: Out, x: View, sizes: Sequence[AnySize], places: AnySize, inverse: bool
    ) -> None:
        self.out, self.x, self.places, self.inverse = out, x, places, inverse
        self.batch, *self.sizes = sizes
        self.rank = len(self.sizes)
        self.total = math.prod((*sizes[:-1], places))
        self.longest = functools.reduce(_greater, self.sizes)
        self.fresh, self.dtype = Fresh(), out.dtype.real_dtype
        self.round = Index("round", self.rank)
        self.held = out.buffer
        new = self.fresh.local
        self.n, self.columns, self.width, self.start = (
            new(name, int64) for name in ("n", "columns", "width", "start")
        )
        self.scale = new("scale", self.dtype)
        self.points = Points(self.longest, self.width, self.dtype, self.fresh)
        self.plan = Plan(self.longest, self.n, self.dtype, self.fresh, of_rows=False)
        self.is_rows = scalar.eq(self.round, 0 if self.rows_first else self.rank - 1)

    def described(self) -> Described:
        """Return the statements and the memory that they use."""
        count = self.fresh.local("count", int64)  # the tables are a phase of its own
        tables = Plan(self.longest, count, self.dtype, self.fresh, of_rows=False)
        passes = Passes(self.points, self.plan, self._fill, self._finish)
        begun = Let(count, self.counts())
        body = begun, *tables.body(), *self.tables(tables), self._strips(passes)
        scratch = self.scratch() | passes.scratch | tiles_of(self.points)
        return Described((Loop(self.round, body),), scratch=scratch)

    def counts(self) -> Expr:
        """The points of the transforms of a round."""
        return between(self.of_round(self.sizes), 0, self.longest)

    def tables(self, plan: Plan) -> Body:
        """Return what fills more tables than `plan` has."""
        return ()

    def scratch(self) -> Scratch:
        """The memory that all strips have in common."""
        return self.plan.scratch()

    def of_round(self, values: Sequence[AnySize]) -> Expr:
        """That of the axis of a round, given one for each axis."""
        order = values[::-1] if self.rows_first else values
        found: Expr = whole(order[-1])
        for number, value in enumerate(order[:-1]):
            found = scalar.select(scalar.eq(self.round, number), whole(value), found)
        return found

    def _strips(self, passes: Passes) -> Loop:
        """All strips, in groups that may run at the same time."""
        group, turn = Index("group", _GROUPS), Index("turn", self.total)
        strips, number, row, first = (
            self.fresh.local(name, int64) for name in ("strips", "number", "row", "first")
        )
        batches = [math.prod((self.batch, *self.sizes[:k])) for k in range(self.rank)]
        batch = self.of_round([*batches[:-1], 1])
        inner = (math.prod((*self.sizes[k + 1 : -1], self.places)) for k in range(self.rank - 1))
        inside: Body = (
            Let(number, turn * _GROUPS + group),
            Let(row, scalar.truncdiv(number, strips)),
            Let(first, (number - row * strips) * STRIP),
            Let(self.width, between(self.columns - first, 0, STRIP)),
            Let(self.start, scalar.select(self.is_rows, first, row * self.n * self.columns + first)),
            If(row < batch, passes.body()),
        )
        last = scalar.minimum(
            scalar.truncdiv(batch * strips + (_GROUPS - 1), _GROUPS), whole(self.total)
        )
        begun: Body = (
            Let(self.n, self.counts()),
            Let(self.columns, self.of_round([*inner, batches[-1]])),
            Let(strips, scalar.maximum(scalar.truncdiv(self.columns + (STRIP - 1), STRIP), 1)),
            Let(self.scale, 1.0 / scalar.cast(self.of_round(self.sizes), self.dtype)),
        )
        turns = Loop(turn, inside, share=Span(whole(0), last))
        return Loop(group, (*begun, *passes.begun(), turns), LoopKind.PARALLEL)

    def _fill(self, put: Put) -> Body:
        return If(self.is_rows, self.fill_rows(put)), *self.fill_columns(put)

    def fill_rows(self, put: Put) -> Body:
        """Put the points of a strip of rows."""
        return (
            self.from_rows(
                self.read_rows(lambda at: parts(self.x[at]), self.x.shape[0], self.sizes[-1]),
                whole(0), self.n, put,
            ),
        )  # fmt: skip

    def fill_columns(self, put: Put) -> Body:
        """Put the points of a strip of columns."""
        return (If(~self.is_rows, (self.columns_from(lambda at: self.get_held(at), put),)),)

    def columns_from(self, get: Callable[[Expr], Point], put: Put) -> Loop:
        """Put what `get` finds at the places of a strip of columns."""
        return self._columns(whole(0), lambda p, place, at: put(p, place, self.turned(get(at))))

    def _finish(self, side: Expr) -> Body:
        def point(p: Expr, place: Expr, at: Expr) -> Body:
            return (self.stored(self.held, at, self.points.get(WORK, place)),)

        return (
            If(self.is_rows, self.finish_rows(side)),
            If(~self.is_rows, (self._columns(side, point),)),
        )

    def finish_rows(self, side: Expr) -> Body:
        """Store the results of a strip of rows."""

        def write(at: Expr, lane: Expr, value: Point) -> Body:
            return (self.stored(self.out.buffer, at + lane, value),)

        return (self.to_rows(side, whole(self.places), self.write_rows(write, self.total, self.places)),)

    def stored(self, name: str, at: Expr, value: Point) -> Store:
        """The store of a result."""
        re, im = self.turned(value)
        scaled = (re * self.scale, im * self.scale) if self.inverse else value
        return Store(name, (at,), scalar.complex(*scaled))

    def get_held(self, at: Expr) -> Point:
        """The number that a round left at a place."""
        return parts(Load(self.held, (at,), complex_of(self.dtype)))

    def turned(self, value: Point) -> Point:
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
                Let(at, _place(self.start + p * self.columns)),
                If(
                    (begin + self.width <= whole(points.size * 2)) & (at + self.width <= whole(self.total)),
                    (lanes,),
                ),
            )

        return fresh.between(0, self.n, points.most, row, "point")

    # Tiles of rows and columns change places by shuffles, so that both sides are read and written in cache
    # lines.

    def from_rows(self, read: Side, side: Expr, count: Expr, put: Put) -> Loop:
        """Put `count` points of each row of a strip; `read` has brought them into the tile."""

        def tile(start: Expr, height: Expr, first: Expr, width: Expr) -> Body:
            def line(p: Expr, j: Expr, lane: Expr, place: Expr) -> Body:
                return put(p, place, self.turned(self._of_tile(j, lane)))

            return (
                *read(start, height, first, width),
                transposed_tile(self.points),
                self._lines(side, start, height, first, width, line),
            )

        return self._tiles(count, tile)

    def to_rows(self, side: Expr, count: Expr, write: Side) -> Loop:
        """Let `write` store `count` points of each row of a strip, which it finds in the turned tile."""

        def tile(start: Expr, height: Expr, first: Expr, width: Expr) -> Body:
            def line(p: Expr, j: Expr, lane: Expr, place: Expr) -> Body:
                return self._to_tile(j, lane, self.points.get(WORK, place))

            return (
                self._lines(side, start, height, first, width, line),
                transposed_tile(self.points),
                *write(start, height, first, width),
            )

        return self._tiles(count, tile)

    def read_rows(
        self, get: Callable[[Expr], Point], total: AnySize, pitch: AnySize, step: int = 1
    ) -> Side:
        """Return a reader of points of a tile from rows of `pitch` numbers, `step` of which are a point."""

        def read(start: Expr, height: Expr, first: Expr, width: Expr) -> Body:
            def row(r: Expr, lane: Expr, at: Expr) -> Body:
                return self._to_tile(r, lane, get(at + lane * step))

            return (self._rows((start, height, first, width), total, pitch, step, row),)

        return read

    def write_rows(
        self, store: Callable[[Expr, Expr, Point], Body], total: AnySize, pitch: AnySize, step: int = 1
    ) -> Side:
        """Return a writer of points of a tile to such rows, by `store(at, lane, value)`."""

        def write(start: Expr, height: Expr, first: Expr, width: Expr) -> Body:
            def row(r: Expr, lane: Expr, at: Expr) -> Body:
                return store(at, lane, self._of_tile(r, lane))

            return (self._rows((start, height, first, width), total, pitch, step, row),)

        return write

    def _to_tile(self, line: Expr, lane: Expr, value: Point) -> Body:
        return tuple(Store(TILE, (whole(k), line, lane), v) for k, v in enumerate(value))

    def _tiles(self, count: Expr, body: Side) -> Loop:
        """Do `body` for tiles of `count` points of a strip of rows."""
        fresh, tile = self.fresh, self.points.tile

        def block(number: Index) -> Body:
            start, height = number * tile, fresh.local("height", int64)

            def square(k: Index) -> Body:
                first, width = k * tile, fresh.local("width", int64)
                return Let(width, between(self.width - first, 0, tile)), *body(start, height, first, width)

            squares = (self.width + (tile - 1)) // tile
            return (
                Let(height, between(count - start, 0, tile)),
                fresh.between(0, squares, STRIP // tile, square, "square"),
            )

        return fresh.between(0, (count + (tile - 1)) // tile, self.points.most // tile, block, "block")

    def _rows(
        self,
        tile: tuple[Expr, Expr, Expr, Expr],
        total: AnySize,
        pitch: AnySize,
        step: int,
        body: Callable[[Expr, Expr, Expr], Body],
    ) -> Loop:
        """Do `body(row, lane, at)` for all of a tile, as it lies in `x` and in the result."""
        points, fresh = self.points, self.fresh
        start, height, first, width = tile

        def row(r: Index) -> Body:
            at = fresh.local("at", int64)
            lanes = points.lanes(height, points.tile, lambda lane: body(r, lane, at))
            return (
                Let(at, _place((self.start + first + r) * whole(pitch) + start * step)),
                If(at + height * step <= whole(total), (lanes,)),
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


def _place(at: Expr) -> Expr:
    """A place in memory. It is told that sums of places do not overflow."""
    return scalar.minimum(scalar.maximum(at, 0), _MOST)


def complex_of(dtype: DType) -> DType:
    """The dtype of complex numbers whose parts have a dtype."""
    return complex64 if dtype is float32 else complex128


def _greater(a: AnySize, b: AnySize) -> AnySize:
    return a + at_least(b - a, 0)
