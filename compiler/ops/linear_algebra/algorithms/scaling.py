"""Powers of two that bring a matrix to a size of which squares neither overflow nor vanish.

Most matrices are left as they are. Others are multiplied before an algorithm that is homogeneous, and what it
gives is multiplied back. Both are exact, but for numbers that are nothing beside the largest one.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.dtypes import DType, float32, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Store, Update
from staticgraph.compiler.ops.statements.strips import Body, Element, Scratch, Strips, whole


def _exponent(dtype: DType) -> int:
    """The exponent of two from which on numbers are large, and below its negative small."""
    return 40 if dtype is float32 else 340


def scale_of(largest: Expr, dtype: DType) -> Expr:
    """The factor for the numbers of a matrix, by the size of the largest."""
    return _chosen(largest, dtype, 2.0 ** (-2 * _exponent(dtype)))


def unscale_of(largest: Expr, dtype: DType, wide: DType) -> Expr:
    """The factor for results of the size of a scaled matrix, in the dtype `wide`."""
    factor = 2.0 ** (2 * _exponent(dtype))
    return scalar.cast(_chosen(largest, dtype, factor), wide)


def _chosen(largest: Expr, dtype: DType, of_large: float) -> Expr:
    limit = 2.0 ** _exponent(dtype)
    small = largest < Const(1.0 / limit, dtype)
    one = scalar.select(small, Const(1.0 / of_large, dtype), Const(1.0, dtype))
    return scalar.select(largest > Const(limit, dtype), Const(of_large, dtype), one)


class Measured:
    """A matrix in strips that is brought to a usual size.

    Args:
        a: The strips.
        local: True if one thread does all of it.
    """

    def __init__(self, a: Strips, local: bool) -> None:
        self.a, self.fresh, self.local = a, a.fresh, local
        self.dtype = a.dtype.real_dtype  # of what is measured

    def buffers(self) -> Scratch:
        """The scratch memory, that of the matrix included."""
        place: dict[str, Any] = {"written": True, "local": self.local, "shared": True}
        of_lanes = Buffer(self.dtype, (2, self.a.count, self.a.width), **place)
        return {
            self.a.name: self.a.buffer(self.local),
            "of_lanes": of_lanes,
            "measures": Buffer(self.dtype, (2,), **place),
        }

    @property
    def largest(self) -> Load:
        """The size of the largest number."""
        return Load("measures", (Const(0, int64),), self.dtype)

    @property
    def poison(self) -> Load:
        """Zero, or NaN if some number is not finite."""
        return Load("measures", (Const(1, int64),), self.dtype)

    def read(self, element: Element) -> Body:
        """Fill the strips with the numbers of a matrix, and with zeros beyond it, and scale them."""
        a, fresh, zero, nothing = self.a, self.fresh, Const(0.0, self.dtype), Const(0.0, self.a.dtype)
        end = whole(a.height)

        def zeros(i: Index, strip: Index) -> Body:
            return (a.lanes(lambda lane: (a.put(strip, i, lane, nothing),)),)

        def fill(strip: Index) -> Body:
            whole_strips = a.columns // a.width
            start = scalar.select(strip < whole_strips, whole(a.rows), whole(0))
            beyond = fresh.between(start, end, a.height, lambda i: zeros(i, strip), "i")
            numbers = a.columns_of(strip, lambda i, lane, column: a.put(strip, i, lane, element(i, column)))
            return (beyond, *numbers, a.lanes(lambda lane: measure(strip, lane)))

        def measure(strip: Index, lane: Index) -> Body:
            best, bad = fresh.local("best", self.dtype), fresh.local("bad", self.dtype)

            def row(i: Index) -> Body:
                stmts: Body = ()
                for part in parts(a.at(strip, i, lane)):
                    value, size = fresh.local("value", self.dtype), fresh.local("size", self.dtype)
                    stmts += (
                        Let(value, part),
                        Let(size, scalar.abs(value)),
                        Update(best, scalar.select(size > best, size, best)),
                        Update(bad, bad + value * 0.0),
                    )
                return stmts

            stores = (
                Store("of_lanes", (Const(at, int64), strip, lane), x) for at, x in enumerate((best, bad))
            )
            return (Let(best, zero), Let(bad, zero), fresh.each(a.rows, row), *stores)

        best, bad = fresh.local("best", self.dtype), fresh.local("bad", self.dtype)

        def each(strip: Index) -> Body:
            def lane_of(lane: Index) -> Body:
                size, other = (
                    Load("of_lanes", (Const(at, int64), strip, lane), self.dtype) for at in range(2)
                )
                return Update(best, scalar.select(size > best, size, best)), Update(bad, bad + other)

            return (fresh.each(a.width, lane_of),)

        return (
            a.each_strip(fill),
            Let(best, zero),
            Let(bad, zero),
            fresh.each(a.count, each),
            *(Store("measures", (Const(at, int64),), x) for at, x in enumerate((best, bad))),
            a.each_strip(self._scale),
        )

    def _scale(self, strip: Index) -> Body:
        """Scale the numbers of a strip by the power of two that the largest number asks for."""
        a, scale = self.a, self.fresh.local("scale", self.dtype)

        def row(i: Index) -> Body:
            def lanes(lane: Index) -> Body:
                return (a.put(strip, i, lane, scaled_by(scale, a.at(strip, i, lane))),)

            return (a.lanes(lanes),)

        needed = scalar.ne(scale, Const(1.0, self.dtype))
        return Let(scale, scale_of(self.largest, self.dtype)), If(needed, (self.fresh.each(a.rows, row),))

    def unscaled(self, value: Expr) -> Expr:
        """A result of the size of the matrix, in the precision of the matrix."""
        if value.dtype.is_complex:
            return scaled_by(unscale_of(self.largest, self.dtype, self.dtype), value)
        return scalar.cast(value * unscale_of(self.largest, self.dtype, value.dtype), self.dtype)


def parts(x: Expr) -> tuple[Expr, ...]:
    """The real numbers that a number consists of."""
    return (scalar.real(x), scalar.imag(x)) if x.dtype.is_complex else (x,)


def scaled_by(scale: Expr, x: Expr) -> Expr:
    """A number times a real one."""
    scaled = [part * scale for part in parts(x)]
    return scalar.complex(*scaled) if x.dtype.is_complex else scaled[0]
