"""Fourier transforms of real numbers over several axes whose lengths are known when a program runs.

They share the loop of axes of `open_planes.py`. Rows of the last axis have an even number of real points, and
then are half as many complex ones (see `real_rows.py`), or an odd number of them. They are the first round of
a transform, and the last round on the way back; the other rounds are for the first half of the spectra alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import COMPLEX, float32, float64, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType, merge
from staticgraph.compiler.graph.sizes import AnySize, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, Store
from staticgraph.compiler.ops.fourier.butterflies import parts
from staticgraph.compiler.ops.fourier.open_passes import Put
from staticgraph.compiler.ops.fourier.open_plan import Plan
from staticgraph.compiler.ops.fourier.open_planes import Planes, Side, complex_of
from staticgraph.compiler.ops.fourier.open_stages import STRIP, WORK, Point, between, times
from staticgraph.compiler.ops.kinds import Described, Out, View, routine
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.ops.statements.strips import Body, Scratch, whole

_HALF = "half"  # the planes of the roots of unity for real numbers
_HELD = "held"  # spectra between the rounds on the way back


def _points(sizes: Any, half: bool) -> Any:
    if sizes is None or None in sizes:
        return None
    *others, last = sizes
    return math.prod((*others, last // 2 + 1 if half else last))


def _checked(x: TensorType, sizes: Sequence[AnySize | None] | None, half: bool) -> None:
    require(x.rank in (None, 1), f"x has rank {x.rank}, and must be flat")
    merge(x.shape, (_points(sizes, half),), "x and the product of sizes:")
    if sizes is not None and sizes[-1] is not None:
        # The first half of a spectrum of no points would have one.
        require(not same(sizes[-1], 0), "there are no points along the last axis")


def _spectrum_type(x: TensorType, sizes: Sequence[AnySize | None] | None) -> TensorType:
    _checked(x, sizes, half=False)
    return TensorType(complex_of(x.dtype), (_points(sizes, half=True),))


def _numpy_spectrum(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    spectrum = "c8" if x.dtype == "f4" else "c16"
    if not x.size:
        return np.zeros(_points(sizes, half=True), spectrum)
    return np.fft.rfftn(x.reshape(sizes), axes=range(1, len(sizes))).astype(spectrum).reshape(-1)


@routine(
    type=_spectrum_type, numpy=_numpy_spectrum, dtypes=frozenset({float32, float64}), differentiable=False,
    operands=("sizes",), partial=("sizes",),
    samples=[
        Sample(real(2 * 5 * 12), sizes=(2, 5, 12)),
        Sample(real(20 * 17), sizes=(1, 20, 17)),
        Sample(real(2 * 3 * 5 * 4), sizes=(2, 3, 5, 4)),
        Sample(real(0), sizes=(0, 3, 5)),
    ],
)  # fmt: skip
def open_rfft_planes(outs: tuple[Out, ...], x: View, *, sizes: Sequence[AnySize]) -> Described | tuple[()]:
    """The first half of the Fourier transforms of flat real data over all of `sizes` but the first."""
    (out,) = outs
    if any(same(size, 0) for size in (*sizes, *x.shape)):
        return ()
    return _Spectra(out, x, sizes, sizes[-1] // 2 + 1, inverse=False).described()


def _signal_type(x: TensorType, sizes: Sequence[AnySize | None] | None) -> TensorType:
    _checked(x, sizes, half=True)
    return TensorType(x.dtype.real_dtype, (_points(sizes, half=False),))


def _numpy_signal(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    signal = "f4" if x.dtype == "c8" else "f8"
    if 0 in sizes:
        return np.zeros(_points(sizes, half=False), signal)
    shape, axes = (*sizes[:-1], sizes[-1] // 2 + 1), range(1, len(sizes))
    return np.fft.irfftn(x.reshape(shape), sizes[1:], axes).astype(signal).reshape(-1)


@routine(
    type=_signal_type, numpy=_numpy_signal, dtypes=COMPLEX, differentiable=False,
    operands=("sizes",), partial=("sizes",),
    samples=[
        Sample(real(2 * 5 * 7), sizes=(2, 5, 12)),
        Sample(real(20 * 9), sizes=(1, 20, 17)),
        Sample(real(2 * 3 * 5 * 3), sizes=(2, 3, 5, 4)),
        Sample(real(0), sizes=(0, 3, 5)),
    ],
)  # fmt: skip
def open_irfft_planes(outs: tuple[Out, ...], x: View, *, sizes: Sequence[AnySize]) -> Described | tuple[()]:
    """Flat real data, of which `x` is the first half of the Fourier transforms over all of `sizes` but the
    first.
    """
    (out,) = outs
    if any(same(size, 0) for size in (*sizes, *out.shape)):
        return ()
    return _Signals(out, x, sizes, sizes[-1] // 2 + 1, inverse=True).described()


class _RealPlanes(Planes):
    """The statements of a transform with real numbers on one side."""

    def __init__(self, out: Out, x: View, sizes: Sequence[AnySize], places: AnySize, inverse: bool) -> None:
        super().__init__(out, x, sizes, places, inverse)
        self.is_even = scalar.eq(whole(self.sizes[-1]) % 2, 0)

    def counts(self) -> Expr:
        """The points of the transforms of a round, which are pairs of real numbers if they can be."""
        half = whole(self.sizes[-1] // 2)
        points = scalar.select(self.is_rows & self.is_even, half, self.of_round(self.sizes))
        return between(points, 0, self.longest)

    def tables(self, plan: Plan) -> Body:
        """Return what fills the table of the roots that halves of spectra are put together by."""
        last = whole(self.sizes[-1])
        count = between(whole(self.places), 0, plan.most)
        return (If(self.is_rows & self.is_even, plan.table(_HALF, whole(0), count, lambda k, _: k, last)),)

    def scratch(self) -> Scratch:
        """The memory that all strips have in common."""
        return self.plan.scratch(_HALF)

    def either(self, even: Side, odd: Side) -> Side:
        """Do one of two things with a tile, by the number of points in a row."""
        return lambda *tile: (If(self.is_even, even(*tile)), If(~self.is_even, odd(*tile)))

    def pairs(self, side: Expr, count: Expr, body: Callable[[Expr, Expr, Point, Point], Body]) -> Loop:
        """Do `body(point, place, one, other)` for the points before `count` of a strip of rows.

        Both are numbers of a side of the planes: that of the point, and the conjugate of the one that is as
        far from the end.
        """
        points, fresh, both = self.points, self.fresh, whole(self.points.size * 2)

        def row(p: Index) -> Body:
            begin, at, far = (fresh.local(name, int64) for name in ("begin", "at", "far"))

            def lane(c: Index) -> Body:
                re, im = points.get(WORK, far + c)
                return body(p, begin + c, points.get(WORK, at + c), (re, -im))

            inside = (begin + self.width <= whole(points.size)) & (at + self.width <= both)
            return (
                Let(begin, between(p * self.width, 0, points.size)),
                Let(at, between(side + p * self.width, 0, points.size * 2)),
                Let(far, between(side + (self.n - p) * self.width, 0, points.size * 2)),
                If(inside & (far + self.width <= both), (points.lanes(self.width, STRIP, lane),)),
            )

        return fresh.between(0, count, points.most, row, "point")

    def split(self, p: Expr, one: Point, other: Point) -> Point:
        """Twice the number of the spectrum of all points, given that of pairs. It is also the way back."""
        re, im = times((one[0] - other[0], one[1] - other[1]), self.points.get(_HALF, p))
        return one[0] + other[0] + im, one[1] + other[1] - re


class _Spectra(_RealPlanes):
    def fill_rows(self, put: Put) -> Body:
        """Put the points of a strip of rows, two real numbers as one if they can be."""
        total, last = self.x.shape[0], self.sizes[-1]
        zero = Const(0.0, self.dtype)
        pairs = self.read_rows(lambda at: (self.x[at], self.x[at + 1]), total, last, step=2)
        return (
            self.from_rows(
                self.either(pairs, self.read_rows(lambda at: (self.x[at], zero), total, last)),
                whole(0), self.n, put,
            ),
        )  # fmt: skip

    def finish_rows(self, side: Expr) -> Body:
        """Store the first half of the spectra of a strip of rows."""
        points, begun = self.points, self.fresh.local("begun", int64)
        other, both = points.size - side, whole(points.size * 2)

        def first(c: Index) -> Body:  # the spectra of pairs begin again
            return points.put(WORK, begun + c, points.get(WORK, side + c))

        def value(p: Expr, place: Expr, one: Point, far: Point) -> Body:
            re, im = self.split(p, one, far)
            return points.put(WORK, other + place, (re * 0.5, im * 0.5))

        even: Body = (
            Let(begun, between(side + self.n * self.width, 0, points.size * 2)),
            If(
                (begun + self.width <= both) & (side + self.width <= both),
                (points.lanes(self.width, STRIP, first),),
            ),
            self.pairs(side, self.n + 1, value),
        )
        result = between(scalar.select(self.is_even, other, side), 0, points.size)
        return If(self.is_even, even), *super().finish_rows(result)


class _Signals(_RealPlanes):
    rows_first = False

    def __init__(self, out: Out, x: View, sizes: Sequence[AnySize], places: AnySize, inverse: bool) -> None:
        super().__init__(out, x, sizes, places, inverse)
        self.held = _HELD

    def scratch(self) -> Scratch:
        """The memory that all strips have in common."""
        held = Buffer(self.x.dtype, (self.total,), written=True, shared=True)
        return super().scratch() | {_HELD: held}

    def fill_columns(self, put: Put) -> Body:
        """Put the points of a strip of columns."""
        is_first = scalar.eq(self.round, 0)
        begun = If(is_first, (self.columns_from(lambda at: parts(self.x[at]), put),))
        if self.rank == 2:
            return (begun,)
        return begun, If(~is_first & ~self.is_rows, (self.columns_from(self.get_held, put),))

    def fill_rows(self, put: Put) -> Body:
        """Put the points of a strip of rows, given the first half of their spectra."""
        places, zero = whole(self.places), Const(0.0, self.dtype)

        def given(p: Expr, place: Expr, value: Point) -> Body:
            return self.points.put(WORK, place, value)

        def value(p: Expr, place: Expr, one: Point, far: Point) -> Body:
            ends = scalar.eq(p, 0)  # their imaginary parts count as zero
            one, far = ((v[0], scalar.select(ends, zero, v[1])) for v in (one, far))
            of_pairs, is_given = self.split(p, one, far), p < places
            single = (scalar.select(is_given, a, b) for a, b in zip(one, far, strict=True))
            re, im = (scalar.select(self.is_even, a, b) for a, b in zip(of_pairs, single, strict=True))
            return put(p, place, (re, im))

        read = self.read_rows(self.get_held, self.total, self.places)
        return (
            self.from_rows(read, whole(self.points.size), places, given),
            self.pairs(whole(self.points.size), self.n, value),
        )

    def finish_rows(self, side: Expr) -> Body:
        """Store the real numbers of a strip of rows."""
        name, total, last = self.out.buffer, self.out.shape[0], self.sizes[-1]

        def pair(at: Expr, lane: Expr, value: Point) -> Body:
            scaled = value[0] * self.scale, -value[1] * self.scale
            return tuple(Store(name, (at + lane * 2 + k,), v) for k, v in enumerate(scaled))

        def single(at: Expr, lane: Expr, value: Point) -> Body:
            return (Store(name, (at + lane,), value[0] * self.scale),)

        write = self.either(
            self.write_rows(pair, total, last, step=2), self.write_rows(single, total, last)
        )
        return (self.to_rows(side, self.n, write),)
