"""Fourier transforms of a length that is known when a program runs, of complex and of real numbers.

Real numbers of an even length are transformed as half as many complex ones: see `real_rows.py`. If the length
is even is known when the program runs, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, complex64, complex128, float32, float64, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.sizes import AnySize, at_most, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, substitute
from staticgraph.compiler.kernel.stmt import If, Let, Loop, LoopKind, Store, rewrite
from staticgraph.compiler.ops.fourier.butterflies import parts
from staticgraph.compiler.ops.fourier.open_passes import Passes, Put
from staticgraph.compiler.ops.fourier.open_plan import Plan
from staticgraph.compiler.ops.fourier.open_stages import STRIP, WORK, Point, Points, between, times
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.strips import Body, Fresh, whole

_GROUPS = 8  # of rows, or of strips of columns, that are transformed at the same time
_HALF = "half"  # the planes of the roots of unity for real numbers


def in_groups(index: Index, body: Body, begun: Body) -> Body:
    """`body` for all values of `index`, in a few groups that may run at the same time.

    Each begins with `begun`, and has scratch memory of its own.
    """
    if same(index.extent, 1):
        return *begun, *_at(body, index, Const(0, int64))
    group = Index("group", at_most(index.extent, _GROUPS))
    turn = Index("turn", -(-index.extent // _GROUPS))
    number = turn * _GROUPS + group
    inside = Loop(turn, (If(number < whole(index.extent), _at(body, index, number)),))
    return (Loop(group, (*begun, inside), LoopKind.PARALLEL),)


def _at(body: Body, index: Index, place: Expr) -> Body:
    return rewrite(body, lambda e: substitute(e, {index: place}))


def _columns_type(x: TensorType, inverse: bool = False) -> TensorType:
    require(x.rank in (None, 3), f"x has rank {x.rank}, and must be [batch, points, columns]")
    return x


def _numpy_columns(x: np.ndarray, inverse: bool = False) -> np.ndarray:
    return (np.fft.ifft if inverse else np.fft.fft)(x, axis=1).astype(x.dtype) if x.size else x.copy()


@routine(
    type=_columns_type, numpy=_numpy_columns, dtypes=COMPLEX, differentiable=False,
    samples=[
        Sample(real(2, 12, 1)),
        Sample(real(3, 17, 1), inverse=True),
        Sample(real(2, 15, 19)),
        Sample(real(0, 5, 1)),
    ],
)  # fmt: skip
def open_fft(outs: tuple[Out, ...], x: View, *, inverse: bool = False) -> Described | tuple[()]:
    """Fourier transforms along the second of three axes, of any length; with `inverse` their inverses."""
    (out,) = outs
    batch, n, columns = x.shape
    if any(same(size, 0) for size in x.shape):
        return ()
    fresh, dtype, count = Fresh(), out.dtype.real_dtype, whole(n)
    plan = Plan(n, count, dtype, fresh, of_rows=same(columns, 1))
    row, strip = Index("row", batch), Index("strip", -(-columns // STRIP))
    width = None if same(columns, 1) else fresh.local("width", int64)
    points, scale = Points(n, width, dtype, fresh), fresh.local("scale", dtype)

    def at(p: Expr, column: Expr) -> tuple[Expr, ...]:
        return row, p, column if width is None else strip * STRIP + column

    def fill(put: Put) -> Body:
        def point(p: Expr, place: Expr, column: Expr) -> Body:
            re, im = parts(x[at(p, column)])
            return put(p, place, (re, -im if inverse else im))

        return points.each_column(0, count, point)

    def finish(side: Expr) -> Body:
        def result(p: Expr, place: Expr, column: Expr) -> Body:
            re, im = points.get(WORK, side + place)
            value = scalar.complex(re * scale, -im * scale) if inverse else scalar.complex(re, im)
            return (Store(out.buffer, at(p, column), value),)

        return points.each_column(0, count, result)

    passes = Passes(points, plan, fill, finish)
    begun: Body = (Let(scale, 1.0 / scalar.cast(count, dtype)),) if inverse else ()
    scratch = plan.scratch() | passes.scratch
    if width is None:
        rows = in_groups(row, passes.body(), (*passes.begun(), *begun))
        return Described((*plan.body(), *rows), scratch=scratch)
    first = strip * STRIP
    inside = (
        Let(width, scalar.minimum(whole(columns) - first, STRIP)),
        If(first + width <= whole(columns), passes.body()),
    )
    outer, inner = (row, strip) if same(strip.extent, 1) else (strip, row)
    strips = in_groups(outer, (Loop(inner, inside),), (*passes.begun(), *begun))
    return Described((*plan.body(), *strips), scratch=scratch)


class _RealRows:
    """Rows of `n` real numbers as rows of complex ones: half as many if there is an even number of them."""

    def __init__(self, n: AnySize, dtype: Any) -> None:
        self.fresh, self.dtype, self.n = Fresh(), dtype, n
        self.half = whole(n // 2)
        is_even, self.count = self.fresh.local("even", int64), self.fresh.local("count", int64)
        self.plan = Plan(n, self.count, dtype, self.fresh)
        self.points = Points(n, None, dtype, self.fresh)
        n_points = whole(n)
        self.begun: Body = (
            Let(is_even, scalar.select(scalar.eq(n_points % 2, 0), whole(1), whole(0))),
            Let(
                self.count,
                between(scalar.select(scalar.eq(is_even, 1), self.half, n_points), 0, self.plan.most),
            ),
        )
        self._is_even = scalar.eq(is_even, 1)

    def described(
        self, batch: AnySize, row: Index, fill: Callable[[Put], Body], finish: Callable[[Expr], Body]
    ) -> Described:
        """Return the statements for all rows."""
        passes = Passes(self.points, self.plan, fill, finish)
        table = self.plan.table(_HALF, whole(0), self.count, lambda k, _: k, whole(self.n))
        rows = in_groups(row, passes.body(), passes.begun())
        body = (*self.begun, *self.plan.body(), If(self._is_even, table), *rows)
        return Described(body, scratch=self.plan.scratch(_HALF) | passes.scratch)

    def either(self, even: Body, odd: Body) -> Body:
        """Do one of two things; positions in pairs of numbers are below `n` in the first."""
        return (
            If(self._is_even & scalar.le(self.count * 2, whole(self.n)), even),
            If(~self._is_even & scalar.ge(self.half * 2 + 1, whole(self.n)), odd),
        )

    def upto(self, stop: Expr, body: Callable[[Expr], Body], first: int | Expr = 0) -> Body:
        """A loop over points, up to `stop` and within their number."""
        return self.points.each(first, scalar.minimum(stop, self.count), lambda p, place: body(p))


def _spectrum_type(x: TensorType) -> TensorType:
    require(x.rank in (None, 2), f"x has rank {x.rank}, and must be [batch, points]")
    spectrum = complex64 if x.dtype is float32 else complex128
    if x.shape is None or x.shape[1] is None:
        return TensorType(spectrum, None if x.shape is None else (x.shape[0], None))
    require(x.shape[1] > 0, "x has no points, of which there is no transform")
    return TensorType(spectrum, (x.shape[0], x.shape[1] // 2 + 1))


def _numpy_spectrum(x: np.ndarray) -> np.ndarray:
    spectrum = "c8" if x.dtype == "f4" else "c16"
    return np.fft.rfft(x, axis=1).astype(spectrum)


@routine(
    type=_spectrum_type, numpy=_numpy_spectrum, dtypes=frozenset({float32, float64}), differentiable=False,
    samples=[Sample(real(2, 12)), Sample(real(3, 34)), Sample(real(2, 15)), Sample(real(0, 5))],
)  # fmt: skip
def open_rfft(outs: tuple[Out, ...], x: View) -> Described | tuple[()]:
    """The first half of the Fourier transforms of rows of real numbers, of any length."""
    (out,) = outs
    batch, n = x.shape
    if same(batch, 0):
        return ()
    row, rows = Index("row", batch), _RealRows(n, x.dtype)
    points, zero = rows.points, Const(0.0, x.dtype)

    def fill(put: Put) -> Body:
        return rows.either(
            rows.upto(rows.count, lambda p: put(p, p, (x[row, p * 2], x[row, p * 2 + 1]))),
            rows.upto(whole(n), lambda p: put(p, p, (x[row, p], zero))),
        )

    def finish(side: Expr) -> Body:
        def store(k: Expr | int, value: Point) -> Store:
            return Store(out.buffer, (row, whole(k)), scalar.complex(*value))

        def between_ends(k: Expr) -> Body:
            one, (re, im) = points.get(WORK, side + k), points.get(WORK, side + rows.count - k)
            a = one[0] + re, one[1] - im
            b = times((one[0] - re, one[1] + im), points.get(_HALF, k))
            return (store(k, ((a[0] + b[1]) * 0.5, (a[1] - b[0]) * 0.5)),)

        re, im = points.get(WORK, side + whole(0))
        ends = store(0, (re + im, zero)), store(rows.half, (re - im, zero))
        return rows.either(
            (*ends, *rows.upto(rows.half, between_ends, 1)),
            rows.upto(rows.half + 1, lambda k: (store(k, points.get(WORK, side + k)),)),
        )

    return rows.described(batch, row, fill, finish)


def _signal_type(x: TensorType, points: AnySize | None) -> TensorType:
    require(x.rank in (None, 2), f"x has rank {x.rank}, and must be [batch, points // 2 + 1]")
    signal = x.dtype.real_dtype
    if x.shape is None:
        return TensorType(signal, None)
    batch, places = x.shape
    if places is not None and points is not None:
        require(places == points // 2 + 1, f"{points} points have {points // 2 + 1} places, not {places}")
    return TensorType(signal, (batch, points))


def _numpy_signal(x: np.ndarray, points: int) -> np.ndarray:
    signal = "f4" if x.dtype == "c8" else "f8"
    return np.fft.irfft(x, n=points, axis=1).astype(signal) if points else np.zeros((len(x), 0), signal)


@routine(
    type=_signal_type, numpy=_numpy_signal, dtypes=COMPLEX, differentiable=False,
    operands=("points",), partial=("points",),
    samples=[
        Sample(real(2, 7), points=12),
        Sample(real(3, 18), points=34),
        Sample(real(2, 8), points=15),
        Sample(real(0, 3), points=5),
    ],
)  # fmt: skip
def open_irfft(outs: tuple[Out, ...], x: View, *, points: int) -> Described | tuple[()]:
    """Rows of `points` real numbers each, of which `x` is the first half of the Fourier transforms."""
    (out,) = outs
    batch, n = out.shape
    if same(batch, 0) or same(n, 0):
        return ()
    row, rows = Index("row", batch), _RealRows(n, out.dtype)
    scale, zero = 1.0 / scalar.cast(whole(n), out.dtype), Const(0.0, out.dtype)

    # What is transformed is the conjugate: angles are negative.
    def fill(put: Put) -> Body:
        def ends(p: Expr, k: Expr) -> Body:
            low, high = parts(x[row, whole(0)])[0], parts(x[row, rows.half])[0]
            return put(p, p, (low + high, high - low))

        def between_ends(p: Expr) -> Body:
            one, (re, im) = parts(x[row, p]), parts(x[row, rows.half - p])
            a = one[0] + re, one[1] - im
            root = rows.points.get(_HALF, p)
            b = times((one[0] - re, one[1] + im), (root[0], -root[1]))
            return put(p, p, (a[0] - b[1], -a[1] - b[0]))

        def first(p: Expr) -> Body:
            re, im = parts(x[row, p])
            return put(p, p, (re, scalar.select(scalar.eq(p, 0), zero, -im)))

        def mirrored(p: Expr) -> Body:
            return put(p, p, parts(x[row, whole(n) - p]))

        return rows.either(
            (
                *rows.upto(whole(1), lambda p: ends(p, p)),
                *rows.upto(rows.half, between_ends, 1),
            ),
            (*rows.upto(rows.half + 1, first), *rows.upto(whole(n), mirrored, rows.half + 1)),
        )

    def finish(side: Expr) -> Body:
        def pair(p: Expr) -> Body:
            re, im = rows.points.get(WORK, side + p)
            return (
                Store(out.buffer, (row, p * 2), re * scale),
                Store(out.buffer, (row, p * 2 + 1), -im * scale),
            )

        def single(p: Expr) -> Body:
            return (Store(out.buffer, (row, p), rows.points.get(WORK, side + p)[0] * scale),)

        return rows.either(rows.upto(rows.count, pair), rows.upto(whole(n), single))

    return rows.described(batch, row, fill, finish)
