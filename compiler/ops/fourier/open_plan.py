"""Tables of a Fourier transform whose length is known when a program runs.

They are made once, before the rows are transformed: the length of the transform in stages, the roots of
unity of its stages, and for other lengths the chirp of Bluestein's convolution.

A root exp(-2 pi i k / n) is found in float64: a quarter of the circle is a whole number, so that what is left
of the angle is below pi / 4 and has no rounding but that of a quotient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from staticgraph.compiler.graph.dtypes import DType, float32, float64, int64
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Span, Stmt, Store, Update, While
from staticgraph.compiler.ops.fourier.butterflies import parts
from staticgraph.compiler.ops.fourier.open_stages import PRIMES, ROOTS, between, divides, radix_of, room
from staticgraph.compiler.ops.statements.strips import Body, Fresh, Scratch, whole

_TERMS = {float32: 5, float64: 8}  # of the power series: up to pi / 4 the next one is below rounding


def root(k: Expr, inverse: Expr, n: Expr, dtype: DType) -> tuple[Expr, Expr]:
    """The real and the imaginary part of exp(-2 pi i k / n).

    Args:
        k: A whole number, of float64, from -n to 2 n.
        inverse: 1 / n, of float64.
        n: The number of roots, of float64: at most 2 ** 50.
        dtype: That of what the results become: they are of float64, and as precise as it needs.
    """
    quarters = scalar.rint(k * 4.0 * inverse)
    angle = (k * 4.0 - quarters * n) * inverse * (math.pi / 2)
    square = angle * angle
    sine = angle * _series(square, [_inverse_factorial(2 * t + 1) for t in range(_TERMS[dtype])])
    cosine = _series(square, [_inverse_factorial(2 * t) for t in range(_TERMS[dtype] + 1)])
    is_odd = scalar.gt(_odd(quarters), 0.5)
    re = scalar.select(is_odd, sine, cosine) * (1.0 - 2.0 * _odd(scalar.floor((quarters + 1.0) * 0.5)))
    im = scalar.select(is_odd, cosine, sine) * (2.0 * _odd(scalar.floor(quarters * 0.5)) - 1.0)
    return re, im


def _inverse_factorial(n: int) -> float:
    return (-1.0) ** (n // 2) / math.factorial(n)


def _series(x: Expr, factors: Sequence[float]) -> Expr:
    found: Expr = Const(factors[-1], x.dtype)
    for factor in reversed(factors[:-1]):
        found = found * x + factor
    return found


def _odd(x: Expr) -> Expr:
    """1 for odd numbers, 0 for even ones."""
    return x - 2.0 * scalar.floor(x * 0.5)


_SHIFT = 3.0 * 2**51  # what is added to it is rounded to a whole number, if it is below 2^51
_SHIFT_BITS = 0x4338 << 48
CHIRP = "chirp"  # the planes of the chirp
_LENGTHS = "lengths"  # see `Plan.lengths`


class Plan:
    """The tables for `count` points, which are `n` at most: those of a row, or of each of some columns."""

    def __init__(self, n: AnySize, count: Expr, dtype: DType, fresh: Fresh, of_rows: bool = True) -> None:
        self.most, self.count, self.dtype, self.fresh, self.of_rows = room(n), count, dtype, fresh, of_rows

    def scratch(self, *tables: str) -> Scratch:
        """The memory of the tables, which all rows have in common."""
        plane = Buffer(self.dtype, (self.most,), written=True, shared=True)
        made = {f"{part}{name}": plane for name in (ROOTS, CHIRP, *tables) for part in ("re", "im")}
        return made | {_LENGTHS: Buffer(int64, (3,), written=True, shared=True)}

    def lengths(self) -> tuple[Local, Local, Local, Body]:
        """Numbers that tell how to transform, and their definitions.

        They are the length of the transform in stages, 1 if it is the one that is wanted, and the rows of
        the matrix that a row is.
        """
        length, is_plain, rows = (self.fresh.local(name, int64) for name in ("length", "plain", "rows"))
        found = [Load(_LENGTHS, (whole(k),), int64) for k in range(3)]
        lets = (
            Let(length, between(found[0], 0, self.most)),
            Let(is_plain, found[1]),
            Let(rows, between(found[2], 1, self.most)),
        )
        return length, is_plain, rows, lets

    def body(self) -> Body:
        """The statements that fill the tables of lengths and of stages."""
        rest, unit, need = (self.fresh.local(name, int64) for name in ("rest", "unit", "need"))
        divided = [
            While((rest > 1) & divides(prime, rest), (Update(rest, scalar.truncdiv(rest, prime)),))
            for prime in PRIMES
        ]
        plain = scalar.le(rest, 1)
        # A few times a power of two: from five times on, the next one is a fifth more at most.
        longer = scalar.truncdiv(need + unit - 1, unit) * unit
        return (
            Let(rest, self.count),
            *divided,
            Let(need, self.count * 2 - 1),
            Let(unit, whole(1)),
            While((unit * 8 < need) & (unit < whole(self.most)), (Update(unit, unit * 2),)),
            Store(_LENGTHS, (whole(0),), scalar.select(plain, self.count, longer)),
            Store(_LENGTHS, (whole(1),), scalar.select(plain, whole(1), whole(0))),
            *self._rows(),
            *self._stages(),
            If(rest > 1, self._chirp()),
        )

    def _chirp(self) -> Body:
        """exp(-pi i k^2 / n): the squares are less a multiple of 2 n, and exact.

        Vectors have no division of whole numbers, so the quotient is one of float64. It may be off by one.
        The lowest bits of it plus 3 * 2^51 are the whole number next to it.
        """
        order = self.count * 2

        def square(k: Index, inverse: Expr) -> Expr:
            number = scalar.cast(k, float64)
            turns = scalar.bitcast(number * number * inverse + _SHIFT, int64) - _SHIFT_BITS
            return k * k - turns * order

        return self.table(CHIRP, whole(0), self.count, square, order)

    def _rows(self) -> Body:
        """Find the rows of a matrix: as many as there are points, or about as many as there are columns."""
        if not self.of_rows:
            return (Store(_LENGTHS, (whole(2),), whole(1)),)
        length = Load(_LENGTHS, (whole(0),), int64)
        names = "rows", "rest", "radix", "more", "goes"
        rows, rest, radix, more, goes = (self.fresh.local(name, int64) for name in names)
        is_wanted = (rest > 1) & (divides(4, length) | scalar.le(more * more, length * 4))
        return (
            Let(rows, whole(1)),
            Let(rest, length),
            Let(goes, whole(1)),
            While(
                scalar.eq(goes, 1),
                (
                    Let(radix, radix_of(rest)),
                    Let(more, rows * radix),
                    Update(goes, scalar.select(is_wanted, whole(1), whole(0))),
                    If(
                        scalar.eq(goes, 1),
                        (Update(rows, more), Update(rest, scalar.truncdiv(rest, radix))),
                    ),
                ),
            ),
            Store(_LENGTHS, (whole(2),), rows),
        )

    def _stages(self) -> Body:
        """The roots of all stages; those between the columns and the rows of a matrix come first."""
        new = self.fresh.local
        length, _, rows, lets = self.lengths()
        names = "rest", "other", "start", "order", "radix", "left", "turns", "first"
        rest, other, start, order, radix, left, turns, first = (new(name, int64) for name in names)
        columns = scalar.truncdiv(length, rows)
        powers = self._powers if self.dtype is float32 else self._directly
        is_turn = scalar.eq(turns, 1)
        inside = (
            Let(radix, scalar.select(is_turn, rows, radix_of(rest))),
            Let(order, scalar.select(is_turn, length, rest)),
            Let(left, between(scalar.truncdiv(order, radix), 0, self.most)),
            Let(first, 1 - turns),
            *powers(start, left, first, radix, order),
            Update(start, start + left * (radix - first)),
            Update(rest, scalar.select(is_turn, rest, left)),
            Update(turns, whole(0)),
            If(scalar.le(rest, 1), (Update(rest, other), Update(other, whole(1)))),
        )
        return (
            *lets,
            Let(rest, rows if self.of_rows else length),
            Let(other, columns if self.of_rows else whole(1)),
            Let(start, whole(0)),
            Let(turns, scalar.select(columns > 1, whole(1), whole(0)) if self.of_rows else whole(0)),
            While((rest > 1) | is_turn, inside),
        )

    def _directly(self, start: Expr, left: Expr, first: Expr, radix: Expr, order: Expr) -> Body:
        """The roots of a stage: the powers from the `first` one to before `radix`."""

        def power(p: Index) -> Body:
            begin = self.fresh.local("begin", int64)
            return (
                Let(begin, between(start + left * (p - first), 0, self.most)),
                *self.table(ROOTS, begin, left, lambda j, _: j * p, order),
            )

        return (self.fresh.between(first, radix, self.most, power, "power"),)

    def _powers(self, start: Expr, left: Expr, first: Expr, radix: Expr, order: Expr) -> Body:
        """The same as powers in float64, whose errors are nothing to float32."""
        new = self.fresh.local
        inverse, of, begin = new("inverse", float64), new("order", float64), new("begin", int64)

        def each(j: Index) -> Body:
            one = [new(part, float64) for part in ("re", "im")]
            power = [new(part, float64) for part in ("re", "im")]

            def step(p: Index) -> Body:
                here = new("here", int64)
                at = (here + j,)
                stores = (
                    Store(f"{part}{ROOTS}", at, scalar.cast(v, self.dtype))
                    for part, v in zip(("re", "im"), power, strict=True)
                )
                product = [new(part, float64) for part in ("re", "im")]
                made = parts(scalar.complex(*power) * scalar.complex(*one))
                return (
                    Let(here, scalar.maximum(scalar.minimum(begin + left * p, whole(self.most) - left), 0)),
                    *stores,
                    *(Let(local, v) for local, v in zip(product, made, strict=True)),
                    *(Update(local, v) for local, v in zip(power, product, strict=True)),
                )

            found = root(scalar.cast(j, float64), inverse, of, float64)
            none = scalar.eq(first, 0)
            begun = scalar.select(none, 1.0, one[0]), scalar.select(none, 0.0, one[1])
            return (
                *(Let(local, v) for local, v in zip(one, found, strict=True)),
                *(Let(local, v) for local, v in zip(power, begun, strict=True)),
                self.fresh.between(0, radix - first, self.most, step, "power"),
            )

        index = self.fresh.index("lane", self.most)
        lanes = Loop(index, each(index), LoopKind.SIMD, Span(whole(0), left))
        return (
            Let(of, scalar.cast(order, float64)),
            Let(inverse, 1.0 / of),
            Let(begin, between(start, 0, self.most)),
            If(begin + left * (radix - first) <= whole(self.most), (lanes,)),
        )

    def table(
        self, name: str, begin: Expr, count: Expr, number: Callable[[Index, Expr], Expr], order: Expr
    ) -> Body:
        """Store `count` roots of unity of some order from a place on.

        `number(j, inverse)` tells which one is at `j`, given the inverse of the order.
        """
        inverse, of = self.fresh.local("inverse", float64), self.fresh.local("order", float64)

        def each(j: Index) -> Body:
            found = root(scalar.cast(number(j, inverse), float64), inverse, of, self.dtype)
            planes = [(f"{part}{name}", self.fresh.local(part, float64)) for part in ("re", "im")]
            lets = (Let(local, v) for (_, local), v in zip(planes, found, strict=True))
            stores = (Store(plane, (begin + j,), scalar.cast(local, self.dtype)) for plane, local in planes)
            return *lets, *stores

        index = self.fresh.index("lane", self.most)
        body: tuple[Stmt, ...] = (Loop(index, each(index), LoopKind.SIMD, Span(whole(0), count)),)
        return (
            Let(of, scalar.cast(order, float64)),
            Let(inverse, 1.0 / of),
            If(begin + count <= whole(self.most), body),
        )
