"""Householder's reflections as statements of the kernel IR: Q and R of a matrix in strips.

The reflections of a strip are taken together: `block_reflectors.py`. Once a strip has its reflections,
all strips behind it are reflected at the same time. At last each strip of Q is made of a unit matrix, by the
reflections in reverse order.
"""

from __future__ import annotations

import operator

from staticgraph.compiler.graph.dtypes import DType, float64
from staticgraph.compiler.graph.sizes import proven, same, several
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.linear_algebra.algorithms.block_reflectors import (
    BlockReflectors,
    Householder,
    in_field,
    square_of_size,
    wide_dtype,
)
from staticgraph.compiler.ops.linear_algebra.algorithms.scaling import Measured
from staticgraph.compiler.ops.statements.loops import first_of, nested
from staticgraph.compiler.ops.statements.strips import TILE, Body, Element, Fresh, Put, Scratch, Strips, whole


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
        self.v = BlockReflectors(self.a, min(rows, columns), local)
        self.block = self.a.width
        self.zero = Const(0.0, dtype)
        # Squares are summed in double precision: those of single precision neither overflow nor vanish.
        self.measured = Measured(self.a, local) if dtype.real_dtype is float64 else None

    def made(self, matrix: Element, put_q: Put, put_r: Put) -> tuple[Body, Scratch]:
        users = ("first", "step", "last")  # each statement of the kernel has memory of its own
        column = Buffer(self.dtype, (self.a.height,), written=True, local=True)
        scratch = {"a": self.a.buffer(self.local), "q": self.q.own_buffer()}
        read: Body = (self.a.each_strip(lambda strip: self._read(strip, matrix)),)
        if self.measured is not None:
            scratch |= self.measured.buffers()
            read = self.measured.read(matrix)
        scratch |= self.v.buffers(*users) | {f"column_{user}": column for user in users[:2]}
        first, once = first_of(self.v.most)
        steps = (self.fresh.each(self.v.most, self._step, "step"),) if several(self.a.count) else ()
        q_strip = self.fresh.index("strip", -(-self.width // self.block))

        def write_q(strip: Index) -> Body:
            reflected = self.v.unit_reflected(self.q, 0, strip, adjoint=False)
            put = self.q.columns_of(strip, lambda i, lane, column: put_q(i, column, self.q.at(0, i, lane)))
            return (*reflected, *put)

        body = (
            *read,
            *nested(once, self._panel(first, "first")),
            *steps,
            self.a.each_strip(lambda strip: self._write(strip, put_r)),
            Loop(q_strip, write_q(q_strip), LoopKind.PARALLEL),
        )
        return body, scratch

    def _read(self, strip: Index, matrix: Element) -> Body:
        def zeros(i: Index) -> Body:
            return (self.a.lanes(lambda lane: (self.a.put(strip, i, lane, self.zero),)),)

        end = whole(self.a.height)
        full = self.columns // self.block  # strips without columns beyond the matrix
        start = scalar.select(strip < full, whole(self.a.rows), whole(0))
        below = self.fresh.between(start, end, self.a.height, zeros, "i")
        fill = self.a.columns_of(strip, lambda i, lane, column: self.a.put(strip, i, lane, matrix(i, column)))
        return (below, *fill)

    def _write(self, strip: Index, put: Put) -> Body:
        """Store the columns of R that a strip has."""

        def store(i: Expr, lane: Index, column: Expr) -> Store:
            x: Expr = self.a.at(strip, i, lane)
            x = x if self.measured is None else self.measured.unscaled(x)
            return put(i, column, scalar.select(i > column, self.zero, x))

        rows = Strips("a", self.width, self.columns, self.dtype, self.fresh)
        return rows.columns_of(strip, store)

    # The reflections of a strip.

    def _panel(self, strip: Expr, user: str) -> Body:
        """Make the reflections of a strip, and reflect the columns that it has behind each."""

        def column(j: Index) -> Body:
            return (If(strip * self.block + j < self.v.count, self._reflection(strip, j, user)),)

        return self.v.cleared(strip), self.fresh.each(self.block, column, "j")

    def _reflection(self, strip: Expr, j: Index, user: str) -> Body:
        a, fresh, block, dtype = self.a, self.fresh, self.block, self.dtype
        row, end = strip * block + j, whole(a.height)
        wide = wide_dtype(dtype)
        below, alpha = fresh.local("below", wide), fresh.local("alpha", dtype)
        made = Householder(fresh, alpha, below)
        name, scale = f"column_{user}", made.scale

        def v(i: Expr) -> Load:
            return Load(name, (i,), dtype)

        def square(i: Index) -> Body:
            return (Update(below, below + square_of_size(a.at(strip, i, j), wide)),)

        def keep(i: Index) -> Body:
            value = fresh.local("v", dtype)
            return Let(value, a.at(strip, i, j) * scale), a.put(strip, i, j, value), Store(name, (i,), value)

        def dots(lane: Index) -> Body:
            sums = [fresh.local("dot", dtype) for _ in range(TILE)]

            def terms(four: Index) -> Body:
                at = [four * TILE + u for u in range(TILE)]
                pairs = zip(sums, at, strict=True)
                return tuple(
                    Update(total, total + scalar.conjugate(v(i)) * a.at(strip, i, lane)) for total, i in pairs
                )

            total = (sums[0] + sums[1]) + (sums[2] + sums[3])
            tiles = a.height // TILE
            loop = fresh.between(strip * (block // TILE), whole(tiles), tiles, terms, "four")
            return (*(Let(s, self.zero) for s in sums), loop, self.v.put(f"dots_{user}", (j, lane), total))

        def reflect(i: Index) -> Body:
            factor = fresh.local("factor", dtype)

            def lanes(lane: Index) -> Body:
                dot = scalar.select(lane > j, self.v.dot(user, j, lane), self.zero)
                return (a.put(strip, i, lane, a.at(strip, i, lane) - factor * dot),)

            return Let(factor, scalar.conjugate(made.tau) * v(i)), a.lanes(lanes)

        return (
            Let(alpha, a.at(strip, row, j)),
            Let(below, Const(0.0, wide)),
            fresh.between(row + 1, end, a.height, square, "i"),
            *made.lets,
            fresh.between(strip * block, row, a.height, lambda i: (Store(name, (i,), self.zero),), "i"),
            Store(name, (row,), Const(1.0, dtype)),
            fresh.between(row + 1, end, a.height, keep, "i"),
            a.lanes(dots),
            fresh.between(row, end, a.height, reflect, "i"),
            a.put(strip, row, j, in_field(made.beta, dtype)),
            self.v.top_column(strip, j, v),
            *self.v.triangle_column(
                strip, j, made.tau, lambda r: scalar.conjugate(self.v.dot(user, j, r))
            ),
        )

    # Reflecting other strips.

    def _step(self, s: Index) -> Body:
        def strip_of(strip: Index) -> Body:
            body = self.v.reflected(self.a, strip, s, "step", adjoint=True)
            following = scalar.eq(strip, s + 1)
            if not proven(operator.ge, self.v.blocks, self.a.count):
                following = following & (strip < self.v.blocks)
            return (*body, If(following, self._panel(strip, "step")))

        body = self.a.strips_after(s, strip_of)
        return (body if same(self.v.most, self.v.blocks) else If(s < self.v.blocks, (body,)),)
