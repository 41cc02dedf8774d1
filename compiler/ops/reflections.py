"""Householder's reflections as statements of the kernel IR: Q and R of a matrix in strips.

The reflections of a strip together are I - V T V^H (Schreiber and Van Loan, 1989). V is what the strip has
below its diagonal, with ones on it; T is upper triangular. Once a strip has its reflections, all strips
behind it are reflected at the same time. At last each strip of Q is made of a unit matrix, by the reflections
in reverse order.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import DType, float32, float64, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.strips import TILE, Body, Element, Fresh, Put, Scratch, Strips


def orthogonal_factors(
    rows: int, columns: int, width: int, matrix: Element, put_q: Put, put_r: Put, local: bool, dtype: DType
) -> tuple[Body, Scratch]:
    """Factorise a matrix into Q, whose columns are orthonormal, and an upper triangular R.

    Args:
        rows: The number of rows of the matrix.
        columns: Its number of columns.
        width: The number of columns of Q, and of rows of R.
        matrix: The numbers of the matrix.
        put_q: Stores a number of Q.
        put_r: Stores a number of R, and the zeros below its diagonal.
        local: True if one thread does all of it.
        dtype: That of the numbers.

    Returns:
        The statements, and their scratch memory. The signs are LAPACK's: a number on the diagonal of R has
        another sign than what was there, unless there was nothing below.
    """
    return _Reflections(rows, columns, width, local, dtype).made(matrix, put_q, put_r)


class _Reflections:
    def __init__(self, rows: int, columns: int, width: int, local: bool, dtype: DType) -> None:
        self.fresh, self.dtype, self.local = Fresh(), dtype, local
        self.a = Strips("a", rows, columns, dtype, self.fresh)
        self.q = Strips("q", rows, width, dtype, self.fresh, count=1)
        self.columns, self.width = columns, width
        self.count = min(rows, columns)  # of reflections
        self.block = self.a.width
        self.blocks = -(-self.count // self.block)
        self.zero = Const(0.0, dtype)

    def made(self, matrix: Element, put_q: Put, put_r: Put) -> tuple[Body, Scratch]:
        shape = (self.blocks, self.block, self.block)
        small = Buffer(self.dtype, shape, written=True, local=self.local, shared=not self.local)
        scratch = {"a": self.a.buffer(self.local), "top": small, "t": small, "q": self.q.buffer(local=True)}
        for user in ("first", "step", "last"):  # each statement of the kernel has memory of its own
            scratch |= {
                f"column_{user}": Buffer(self.dtype, (self.a.height,), written=True, local=True),
                f"dots_{user}": Buffer(self.dtype, (self.block, self.block), written=True, local=True),
                f"turned_{user}": Buffer(self.dtype, (self.block, self.block), written=True, local=True),
            }
        first = Const(0, int64)
        steps = (self.fresh.each(self.blocks, self._step, "step"),) if self.a.count > 1 else ()
        q_strip = self.fresh.index("strip", -(-self.width // self.block))
        body = (
            self.a.each_strip(lambda strip: self._read(strip, matrix)),
            *self._panel(first, "first"),
            *steps,
            self.a.each_strip(lambda strip: self._write(strip, put_r)),
            Loop(q_strip, self._unit_reflected(q_strip, put_q), LoopKind.PARALLEL),
        )
        return body, scratch

    def top(self, block: Expr, row: Expr | int, column: Expr | int) -> Load:
        """A number of V in the rows of the diagonal block."""
        return Load("top", (block, _whole(row), _whole(column)), self.dtype)

    def t(self, block: Expr, row: Expr | int, column: Expr | int) -> Load:
        """A number of T."""
        return Load("t", (block, _whole(row), _whole(column)), self.dtype)

    def _read(self, strip: Index, matrix: Element) -> Body:
        def zeros(i: Index) -> Body:
            return (self.a.lanes(lambda lane: (self.a.put(strip, i, lane, self.zero),)),)

        end = Const(self.a.height, int64)
        whole = self.columns // self.block  # strips without columns beyond the matrix
        start = scalar.select(strip < whole, Const(self.a.rows, int64), Const(0, int64))
        below = self.fresh.between(start, end, self.a.height, zeros, "i")
        fill = self.a.columns_of(strip, lambda i, lane, column: self.a.put(strip, i, lane, matrix(i, column)))
        return (below, *fill)

    def _write(self, strip: Index, put: Put) -> Body:
        """Store the columns of R that a strip has."""

        def store(i: Expr, lane: Index, column: Expr) -> Store:
            return put(i, column, scalar.select(i > column, self.zero, self.a.at(strip, i, lane)))

        rows = Strips("a", self.width, self.columns, self.dtype, self.fresh)
        return rows.columns_of(strip, store)

    # The reflections of a strip.

    def _panel(self, strip: Expr, user: str) -> Body:
        """Make the reflections of a strip, and reflect the columns that it has behind each."""
        a, block = self.a, self.block

        def clear(i: Index) -> Body:
            def lanes(lane: Index) -> Body:
                at = (strip, i, lane)
                return Store("top", at, self.zero), Store("t", at, self.zero)

            return (a.lanes(lanes),)

        def column(j: Index) -> Body:
            return (If(strip * block + j < self.count, self._reflection(strip, j, user)),)

        return self.fresh.each(block, clear), self.fresh.each(block, column, "j")

    def _reflection(self, strip: Expr, j: Index, user: str) -> Body:
        a, fresh, block, dtype = self.a, self.fresh, self.block, self.dtype
        row, end = strip * block + j, Const(a.height, int64)
        wide = float64 if dtype is float32 else dtype  # of which squares do not overflow
        below, norm = fresh.local("below", wide), fresh.local("norm", wide)
        alpha, beta, tau, scale = (fresh.local(name, dtype) for name in ("alpha", "beta", "tau", "scale"))
        name = f"column_{user}"

        def v(i: Expr) -> Load:
            return Load(name, (i,), dtype)

        def square(i: Index) -> Body:
            x = scalar.cast(a.at(strip, i, j), wide)
            return (Update(below, below + x * x),)

        def keep(i: Index) -> Body:
            value = fresh.local("v", dtype)
            return Let(value, a.at(strip, i, j) * scale), a.put(strip, i, j, value), Store(name, (i,), value)

        def dots(lane: Index) -> Body:
            sums = [fresh.local("dot", dtype) for _ in range(TILE)]

            def terms(four: Index) -> Body:
                at = [four * TILE + u for u in range(TILE)]
                pairs = zip(sums, at, strict=True)
                return tuple(Update(total, total + v(i) * a.at(strip, i, lane)) for total, i in pairs)

            total = (sums[0] + sums[1]) + (sums[2] + sums[3])
            tiles = a.height // TILE
            loop = fresh.between(strip * (block // TILE), Const(tiles, int64), tiles, terms, "four")
            return (*(Let(s, self.zero) for s in sums), loop, Store(f"dots_{user}", (j, lane), total))

        def reflect(i: Index) -> Body:
            factor = fresh.local("factor", dtype)

            def lanes(lane: Index) -> Body:
                dot = scalar.select(lane > j, Load(f"dots_{user}", (j, lane), dtype), self.zero)
                return (a.put(strip, i, lane, a.at(strip, i, lane) - factor * dot),)

            return Let(factor, tau * v(i)), a.lanes(lanes)

        def above(p: Index) -> Body:
            """T above its diagonal, in this column: -tau T V^H v."""
            total = fresh.local("total", dtype)

            def term(r: Index) -> Body:
                return (Update(total, total + self.t(strip, p, r) * Load(f"dots_{user}", (j, r), dtype)),)

            loop = fresh.between(p, j, block, term, "r")
            return Let(total, self.zero), loop, Store("t", (strip, p, j), -(tau * total))

        one, none = Const(1.0, dtype), scalar.eq(below, Const(0.0, wide))
        wide_alpha = scalar.cast(alpha, wide)
        turned = scalar.cast(scalar.select(wide_alpha < 0.0, norm, -norm), dtype)
        return (
            Let(alpha, a.at(strip, row, j)),
            Let(below, Const(0.0, wide)),
            fresh.between(row + 1, end, a.height, square, "i"),
            Let(norm, scalar.sqrt(wide_alpha * wide_alpha + below)),
            Let(beta, scalar.select(none, alpha, turned)),
            Let(tau, scalar.select(none, self.zero, (beta - alpha) / scalar.select(none, one, beta))),
            Let(scale, scalar.select(none, self.zero, one / scalar.select(none, one, alpha - beta))),
            fresh.between(strip * block, row, a.height, lambda i: (Store(name, (i,), self.zero),), "i"),
            Store(name, (row,), one),
            fresh.between(row + 1, end, a.height, keep, "i"),
            a.lanes(dots),
            fresh.between(row, end, a.height, reflect, "i"),
            a.put(strip, row, j, beta),
            fresh.each(block, lambda i: (Store("top", (strip, i, j), v(strip * block + i)),)),
            Store("t", (strip, j, j), tau),
            fresh.between(0, j, block, above, "p"),
        )

    # Reflecting other strips.

    def _step(self, s: Index) -> Body:
        def strip_of(strip: Index) -> Body:
            body = self._reflected(self.a, strip, s, "step", adjoint=True)
            following = scalar.eq(strip, s + 1)
            if self.blocks < self.a.count:
                following = following & (strip < self.blocks)
            return (*body, If(following, self._panel(strip, "step")))

        return (self.a.strips_after(s, strip_of),)

    def _reflected(self, x: Strips, strip: Expr | int, s: Expr, user: str, adjoint: bool) -> Body:
        """Reflect a strip of `x` by the reflections of strip `s`, or by their adjoint."""
        a, fresh, block = self.a, self.fresh, self.block
        first, second = s * block, (s + 1) * block
        tiles = a.height // TILE
        end = Const(a.height, int64)

        def dots(quarter: Index) -> Body:
            def lanes(lane: Index) -> Body:
                part, start = x.tile(
                    [self.zero] * TILE,
                    Const(block, int64),
                    lambda r, k: self.top(s, k, quarter * TILE + r),
                    lambda k: x.at(strip, first + k, lane),
                    block,
                )
                whole, rest = x.tile(
                    part,
                    end,
                    lambda r, k: a.at(s, k, quarter * TILE + r),
                    lambda k: x.at(strip, k, lane),
                    a.height,
                    second,
                )
                stores = (
                    Store(f"dots_{user}", (quarter * TILE + r, lane), -value) for r, value in enumerate(whole)
                )
                return (*start, *rest, *stores)

            return (x.lanes(lanes),)

        def turned(p: Index) -> Body:
            def lanes(lane: Index) -> Body:
                total = fresh.local("total", self.dtype)

                def term(r: Index) -> Body:
                    factor = self.t(s, r, p) if adjoint else self.t(s, p, r)
                    return (Update(total, total + factor * Load(f"dots_{user}", (r, lane), self.dtype)),)

                low, high = (Const(0, int64), p + 1) if adjoint else (p, Const(block, int64))
                loop = fresh.between(low, high, block, term, "r")
                return Let(total, self.zero), loop, Store(f"turned_{user}", (p, lane), total)

            return (x.lanes(lanes),)

        def taken_off(row: Expr, inside: bool) -> Body:
            def lanes(lane: Index) -> Body:
                rows, body = x.tile(
                    [x.at(strip, row + r, lane) for r in range(TILE)],
                    Const(block, int64),
                    lambda r, k: self.top(s, row + r - first, k) if inside else a.at(s, row + r, k),
                    lambda k: Load(f"turned_{user}", (k, lane), self.dtype),
                    block,
                )
                return (*body, *(x.put(strip, row + r, lane, value) for r, value in enumerate(rows)))

            return (x.lanes(lanes),)

        return (
            fresh.each(block // TILE, dots, "quarter"),
            fresh.each(block, turned, "p"),
            fresh.each(block // TILE, lambda quarter: taken_off(first + quarter * TILE, True), "quarter"),
            fresh.between(
                second // TILE, Const(tiles, int64), tiles, lambda tile: taken_off(tile * TILE, False), "tile"
            ),
        )

    def _unit_reflected(self, strip: Index, put: Put) -> Body:
        """Make a strip of Q."""
        q, block = self.q, self.block

        def unit(i: Index) -> Body:
            def lanes(lane: Index) -> Body:
                here = scalar.eq(i, strip * block + lane)
                return (q.put(0, i, lane, scalar.select(here, Const(1.0, self.dtype), self.zero)),)

            return (q.lanes(lanes),)

        def reflected(back: Index) -> Body:
            s = (self.blocks - 1) - back
            return (If(s < strip + 1, self._reflected(q, 0, s, "last", adjoint=False)),)

        return (
            self.fresh.each(q.height, unit),
            self.fresh.each(self.blocks, reflected, "back"),
            *q.columns_of(strip, lambda i, lane, column: put(i, column, q.at(0, i, lane))),
        )


def _whole(value: Expr | int) -> Expr:
    return value if isinstance(value, Expr) else Const(value, int64)
