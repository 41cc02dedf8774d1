"""Householder's reflections in blocks, as statements of the kernel IR.

The reflections of a strip together are I - V T V^H (Schreiber and Van Loan, 1989). V is what the strip has
below its diagonal block, and its part in that block, with the ones of its columns, is kept for itself; T is
upper triangular.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import DType, float32, float64, int64
from staticgraph.compiler.graph.sizes import AnySize, Size, proven, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, Store, Update
from staticgraph.compiler.ops.linear_algebra.algorithms.scaling import parts
from staticgraph.compiler.ops.statements.strips import TILE, Body, Fresh, Scratch, Strips, whole


class BlockReflectors:
    """The reflections of each strip of `a`, in scratch memory.

    Args:
        a: The strips that hold V. Reflections of other strips of the same memory share the memory of these.
        count: The number of reflections.
        local: True if one thread does all of it.
    """

    def __init__(self, a: Strips, count: int, local: bool) -> None:
        self.a, self.count, self.local = a, count, local
        self.fresh, self.dtype, self.block = a.fresh, a.dtype, a.width
        self.blocks = -(-count // self.block)
        # The extent of loops over blocks. Of open ones it may not be known that they are no more than strips.
        self.most = self.blocks if proven(operator.le, self.blocks, a.count) else a.count
        self.zero = Const(0.0, self.dtype)

    def buffers(self, *users: str) -> Scratch:
        """The scratch memory, apart from that of `a`, if these users reflect: each statement is one."""
        shape = (self.a.total, self.block, self.block)
        small = Buffer(self.dtype, shape, written=True, local=self.local, shared=True)
        square = Buffer(self.dtype, (self.block, self.block), written=True, local=True)
        kinds = [(kind, user) for kind in ("dots", "turned") for user in users]
        return {self._named("top"): small, self._named("t"): small} | {
            self._named(f"{kind}_{user}"): square for kind, user in kinds
        }

    def _named(self, name: str) -> str:
        return f"{name}_{self.a.name}"

    def top(self, block: Expr, row: Expr | int, column: Expr | int) -> Load:
        """A number of V in the rows of the diagonal block."""
        return Load(self._named("top"), (self.a.place(block), whole(row), whole(column)), self.dtype)

    def t(self, block: Expr, row: Expr | int, column: Expr | int) -> Load:
        """A number of T."""
        return Load(self._named("t"), (self.a.place(block), whole(row), whole(column)), self.dtype)

    def dot(self, user: str, row: Expr, column: Expr) -> Load:
        """A product of a column of V and another one, of those that a user has stored."""
        return Load(self._named(f"dots_{user}"), (row, column), self.dtype)

    def put(self, name: str, at: tuple[Expr, ...], value: Expr) -> Store:
        """Store a number of `dots_{user}` or `turned_{user}`."""
        return Store(self._named(name), at, value)

    def put_small(self, name: str, block: Expr, row: Expr, column: Expr, value: Expr) -> Store:
        """Store a number of `top` or `t`."""
        return Store(self._named(name), (self.a.place(block), row, column), value)

    def cleared(self, strip: Expr) -> Loop:
        """Begin the reflections of a strip: there is none yet."""

        def clear(i: Index) -> Body:
            def lanes(lane: Index) -> Body:
                return tuple(self.put_small(name, strip, i, lane, self.zero) for name in ("top", "t"))

            return (self.a.lanes(lanes),)

        return self.fresh.each(self.block, clear)

    def top_column(self, strip: Expr, j: Expr, v: Callable[[Expr], Expr]) -> Loop:
        """Store what column `j` of V has in the rows of the diagonal block; `v(i)` is its number in row i."""
        return self.fresh.each(
            self.block, lambda i: (self.put_small("top", strip, i, j, v(strip * self.block + i)),)
        )

    def triangle_column(self, strip: Expr, j: Expr, tau: Local, dot: Callable[[Expr], Expr]) -> Body:
        """Store a column of T: tau, and above it -tau T V^H v, where `dot(r)` is a number of V^H v."""
        fresh, dtype = self.fresh, self.dtype

        def above(p: Index) -> Body:
            total = fresh.local("total", dtype)

            def term(r: Index) -> Body:
                return (Update(total, total + self.t(strip, p, r) * dot(r)),)

            loop = fresh.between(p, j, self.block, term, "r")
            return Let(total, self.zero), loop, self.put_small("t", strip, p, j, -(tau * total))

        return self.put_small("t", strip, j, j, tau), fresh.between(0, j, self.block, above, "p")

    def reflected(self, x: Strips, strip: Expr | int, s: Expr, user: str, adjoint: bool) -> Body:
        """Reflect a strip of `x` by the reflections of strip `s`, or by their adjoint."""
        a, fresh, block = self.a, self.fresh, self.block
        first, second = s * block, (s + 1) * block
        tiles = a.height // TILE
        end = whole(a.height)

        def dots(quarter: Index) -> Body:
            def lanes(lane: Index) -> Body:
                part, start = x.tile(
                    [self.zero] * TILE,
                    Const(block, int64),
                    lambda r, k: scalar.conjugate(self.top(s, k, quarter * TILE + r)),
                    lambda k: x.at(strip, first + k, lane),
                    block,
                )
                total, rest = x.tile(
                    part,
                    end,
                    lambda r, k: scalar.conjugate(a.at(s, k, quarter * TILE + r)),
                    lambda k: x.at(strip, k, lane),
                    a.height,
                    second,
                )
                rows = [quarter * TILE + r for r in range(TILE)]
                stores = (
                    self.put(f"dots_{user}", (r, lane), -value) for r, value in zip(rows, total, strict=True)
                )
                return (*start, *rest, *stores)

            return (x.lanes(lanes),)

        def taken_off(row: Expr, inside: bool) -> Body:
            def lanes(lane: Index) -> Body:
                rows, body = x.tile(
                    [x.at(strip, row + r, lane) for r in range(TILE)],
                    Const(block, int64),
                    lambda r, k: self.top(s, row + r - first, k) if inside else a.at(s, row + r, k),
                    lambda k: Load(self._named(f"turned_{user}"), (k, lane), self.dtype),
                    block,
                )
                return (*body, *(x.put(strip, row + r, lane, value) for r, value in enumerate(rows)))

            return (x.lanes(lanes),)

        return (
            fresh.each(block // TILE, dots, "quarter"),
            fresh.each(block, lambda p: self._turned(x, s, p, user, adjoint), "p"),
            fresh.each(block // TILE, lambda quarter: taken_off(first + quarter * TILE, True), "quarter"),
            fresh.between(
                second // TILE, whole(tiles), tiles, lambda tile: taken_off(tile * TILE, False), "tile"
            ),
        )

    def _turned(self, x: Strips, s: Expr, p: Index, user: str, adjoint: bool) -> Body:
        """Multiply row `p` of the triangle of strip `s`, or of its adjoint, by the dots of a user."""

        def lanes(lane: Index) -> Body:
            total = self.fresh.local("total", self.dtype)

            def term(r: Index) -> Body:
                factor = scalar.conjugate(self.t(s, r, p)) if adjoint else self.t(s, p, r)
                return (Update(total, total + factor * self.dot(user, r, lane)),)

            low, high = (Const(0, int64), p + 1) if adjoint else (p, Const(self.block, int64))
            loop = self.fresh.between(low, high, self.block, term, "r")
            return Let(total, self.zero), loop, self.put(f"turned_{user}", (p, lane), total)

        return (x.lanes(lanes),)

    def unit_reflected(self, q: Strips, place: Expr | int, strip: Expr, adjoint: bool) -> Body:
        """Fill the strip of `q` at `place` with one of the product of all reflections, or of its adjoint."""
        block = self.block

        def unit(i: Index) -> Body:
            def lanes(lane: Index) -> Body:
                here = scalar.eq(i, strip * block + lane)
                return (q.put(place, i, lane, scalar.select(here, Const(1.0, self.dtype), self.zero)),)

            return (q.lanes(lanes),)

        def reflected(number: Index) -> Body:
            if adjoint:
                return self.reflected(q, place, number, "last", adjoint=True)
            s = (self.most - 1) - number
            wanted = s < strip + 1
            if not same(self.most, self.blocks):
                wanted = wanted & (s < self.blocks)
            return (If(wanted, self.reflected(q, place, s, "last", adjoint=False)),)

        return self.fresh.each(q.height, unit), self.fresh.each(self.most, reflected, "number")


def reflections_of(rows: AnySize) -> AnySize:
    """The number of reflections of columns below their first number, in a matrix of so many rows.

    There is one less than rows. If their number is open, there is one for each: the last one changes nothing.
    """
    return rows if isinstance(rows, Size) else max(rows - 1, 1)


_NOTHING = 2.0**-960  # sums of squares below that have lost some of them


class Householder:
    """The reflection whose adjoint leaves of a vector its first number alone: 1 - tau v v^H; v begins with 1.

    Args:
        fresh: Gives the names of locals.
        alpha: The first number.
        below: The sum of the squares of the others, in double precision. Those of a matrix of usual size
            (`scaling.py`) are nothing if their squares vanish.

    Attributes:
        beta: The real number that is left: with another sign than `alpha`, as LAPACK has it, unless nothing
            else was there.
        scale: What the others are multiplied by to be those of v.
        lets: The statements that define these locals and `tau`.
    """

    def __init__(self, fresh: Fresh, alpha: Local, below: Local) -> None:
        dtype, wide = alpha.dtype, below.dtype
        real, norm, rest = dtype.real_dtype, fresh.local("norm", wide), fresh.local("rest", wide)
        self.beta = fresh.local("beta", real)
        self.tau, self.scale = (fresh.local(name, dtype) for name in ("tau", "scale"))
        zero, one = Const(0.0, dtype), Const(1.0, dtype)
        first: Expr = scalar.real(alpha) if dtype.is_complex else alpha
        none = rest < Const(_NOTHING, wide)  # false for NaN
        wide_first = scalar.cast(first, wide)
        turned = scalar.cast(scalar.select(wide_first < 0.0, norm, -norm), real)
        beta = self.beta
        divisor = scalar.select(none, Const(1.0, real), beta)
        tau = (beta - first) / divisor
        others: Expr = below
        if dtype.is_complex:
            other = scalar.cast(scalar.imag(alpha), wide)
            others = below + other * other
            tau = scalar.complex(tau, -scalar.imag(alpha) / divisor)
        self.lets: Body = (
            Let(rest, others),
            Let(norm, scalar.sqrt(wide_first * wide_first + rest)),
            Let(beta, scalar.select(none, first, turned)),
            Let(self.tau, scalar.select(none, zero, tau)),
            Let(
                self.scale,
                scalar.select(none, zero, one / scalar.select(none, one, alpha - in_field(beta, dtype))),
            ),
        )


def in_field(x: Expr, dtype: DType) -> Expr:
    """A real number as one of `dtype`."""
    return scalar.complex(x, 0.0) if dtype.is_complex else x


def square_of_size(x: Expr, wide: DType) -> Expr:
    """The square of the absolute value, in a wide real dtype."""
    first, *others = (scalar.cast(part, wide) for part in parts(x))
    return sum((other * other for other in others), first * first)


def wide_dtype(dtype: DType) -> DType:
    """The real dtype in which squares of numbers, or whatever takes little time, are computed."""
    return float64 if dtype.real_dtype is float32 else dtype.real_dtype
