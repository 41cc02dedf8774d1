"""Tables of a Fourier transform whose length is known when a program runs.

They are made once, before the rows are transformed: the length of the transform in stages, the roots of
unity of its stages, and for other lengths the chirp of Bluestein's convolution.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import DType, float32, float64, int64
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Span, Stmt, Store, Update, While
from staticgraph.compiler.ops.fourier.butterflies import parts
from staticgraph.compiler.ops.fourier.open_stages import PRIMES, RADICES, ROOTS, between, radix_of, room
from staticgraph.compiler.ops.fourier.roots import root
from staticgraph.compiler.ops.statements.strips import Body, Fresh, Scratch, whole

CHIRP = "chirp"  # the planes of the chirp
_LENGTHS = "lengths"  # of the transform in stages, and 1 if it is the one that is wanted


class Plan:
    """The tables for `count` points, which are `n` at most."""

    def __init__(self, n: AnySize, count: Expr, dtype: DType, fresh: Fresh) -> None:
        self.most, self.count, self.dtype, self.fresh = room(n), count, dtype, fresh

    def scratch(self, *tables: str) -> Scratch:
        """The memory of the tables, which all rows have in common."""
        plane = Buffer(self.dtype, (self.most,), written=True, shared=True)
        made = {f"{part}{name}": plane for name in (ROOTS, CHIRP, *tables) for part in ("re", "im")}
        return made | {_LENGTHS: Buffer(int64, (2,), written=True, shared=True)}

    def lengths(self) -> tuple[Local, Local, Body]:
        """The length of the transform in stages, 1 if it is the one that is wanted, and their definitions."""
        length, is_plain = (self.fresh.local(name, int64) for name in ("length", "plain"))
        found = (Load(_LENGTHS, (whole(k),), int64) for k in (0, 1))
        return length, is_plain, (Let(length, between(next(found), 0, self.most)), Let(is_plain, next(found)))

    def body(self) -> Body:
        """The statements that fill the tables of lengths and of stages."""
        rest, unit, need = (self.fresh.local(name, int64) for name in ("rest", "unit", "need"))
        divided = [
            While((rest > 1) & scalar.eq(rest % prime, 0), (Update(rest, rest // prime),)) for prime in PRIMES
        ]
        plain = scalar.le(rest, 1)
        # A few times a power of two: from five times on, the next one is a fifth more at most.
        longer = (need + unit - 1) // unit * unit
        return (
            Let(rest, self.count),
            *divided,
            Let(need, self.count * 2 - 1),
            Let(unit, whole(1)),
            While((unit * 8 < need) & (unit < whole(self.most)), (Update(unit, unit * 2),)),
            Store(_LENGTHS, (whole(0),), scalar.select(plain, self.count, longer)),
            Store(_LENGTHS, (whole(1),), scalar.select(plain, whole(1), whole(0))),
            *self._stages(),
            If(rest > 1, self._chirp()),
        )

    def _chirp(self) -> Body:
        """exp(-pi i k^2 / n): the squares are exact where they are large."""
        return self.table(CHIRP, whole(0), self.count, lambda k: k * k % (self.count * 2), self.count * 2)

    def _stages(self) -> Body:
        new = self.fresh.local
        length, _, lets = self.lengths()
        rest, start, radix, left = (new(name, int64) for name in ("rest", "start", "radix", "left"))

        powers = self._powers if self.dtype is float32 else self._directly
        return (
            *lets,
            Let(rest, length),
            Let(start, whole(0)),
            While(
                rest > 1,
                (
                    Let(radix, radix_of(rest)),
                    Let(left, between(rest // radix, 0, self.most)),
                    *powers(start, left, radix, rest),
                    Update(start, start + left * (radix - 1)),
                    Update(rest, left),
                ),
            ),
        )

    def _directly(self, start: Expr, left: Expr, radix: Expr, order: Expr) -> Body:
        """The roots of a stage."""
        def power(p: Index) -> Body:
            begin = self.fresh.local("begin", int64)
            return (
                Let(begin, between(start + left * (p - 1), 0, self.most)),
                *self.table(ROOTS, begin, left, lambda j: j * p, order),
            )

        return (self.fresh.between(1, radix, max(RADICES), power, "power"),)

    def _powers(self, start: Expr, left: Expr, radix: Expr, order: Expr) -> Body:
        """The same as powers in float64, whose errors are nothing to float32."""
        new = self.fresh.local
        inverse, of, begin = new("inverse", float64), new("order", float64), new("begin", int64)

        def each(j: Index) -> Body:
            one = [new(part, float64) for part in ("re", "im")]
            power = [new(part, float64) for part in ("re", "im")]

            def step(p: Index) -> Body:
                first = new("first", int64)
                at = (first + j,)
                stores = (
                    Store(f"{part}{ROOTS}", at, scalar.cast(v, self.dtype))
                    for part, v in zip(("re", "im"), power, strict=True)
                )
                product = [new(part, float64) for part in ("re", "im")]
                made = parts(scalar.complex(*power) * scalar.complex(*one))
                return (
                    Let(first, scalar.maximum(scalar.minimum(begin + left * p, whole(self.most) - left), 0)),
                    *stores,
                    *(Let(local, v) for local, v in zip(product, made, strict=True)),
                    *(Update(local, v) for local, v in zip(power, product, strict=True)),
                )

            found = root(scalar.cast(j, float64), inverse, of, float64)
            return (
                *(Let(local, v) for local, v in zip(one, found, strict=True)),
                *(Let(local, v) for local, v in zip(power, one, strict=True)),
                self.fresh.between(0, radix - 1, max(RADICES) - 1, step, "power"),
            )

        index = self.fresh.index("lane", self.most)
        lanes = Loop(index, each(index), LoopKind.SIMD, Span(whole(0), left))
        return (
            Let(of, scalar.cast(order, float64)),
            Let(inverse, 1.0 / of),
            Let(begin, between(start, 0, self.most)),
            If(begin + left * (radix - 1) <= whole(self.most), (lanes,)),
        )

    def table(
        self, name: str, begin: Expr, count: Expr, number: Callable[[Index], Expr], order: Expr
    ) -> Body:
        """Store `count` roots of unity of some order from a place on: `number` tells which ones."""
        inverse, of = self.fresh.local("inverse", float64), self.fresh.local("order", float64)

        def each(j: Index) -> Body:
            found = root(scalar.cast(number(j), float64), inverse, of, self.dtype)
            at = (begin + j,)
            return tuple(Store(f"{part}{name}", at, v) for part, v in zip(("re", "im"), found, strict=True))

        index = self.fresh.index("lane", self.most)
        body: tuple[Stmt, ...] = (Loop(index, each(index), LoopKind.SIMD, Span(whole(0), count)),)
        return (
            Let(of, scalar.cast(order, float64)),
            Let(inverse, 1.0 / of),
            If(begin + count <= whole(self.most), body),
        )
