"""The change A - L R that the reduced columns of a strip make in the rest of a matrix, before it is made.

L has two columns and R two rows for each column of the strip, next to each other: those of its reflection of
a column, then those of its reflection of a row. So one loop passes the terms that are there by now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load
from staticgraph.compiler.kernel.stmt import Buffer, Let, Loop, Store, Update
from staticgraph.compiler.ops.linear_algebra.algorithms.block_reflectors import Householder, square_of_size
from staticgraph.compiler.ops.statements.strips import TILE, Body, Scratch, Strips, whole


class Panel:
    """L and R of a strip of `a`, in scratch memory.

    Args:
        a: The strips.
        local: True if one thread does all of it.
    """

    def __init__(self, a: Strips, local: bool) -> None:
        self.a, self.fresh, self.dtype, self.block, self.local = a, a.fresh, a.dtype, a.width, local
        self.zero = Const(0.0, a.dtype)
        self.sums = TILE // 2 if a.dtype.is_complex else TILE  # at once: a complex one is two

    def buffers(self) -> Scratch:
        """The scratch memory."""
        place: dict[str, Any] = {"written": True, "local": self.local, "shared": True}
        terms, height = 2 * self.block, self.a.height
        return {
            "left": Buffer(self.dtype, (height, terms), **place),
            "right": Buffer(self.dtype, (terms, height), **place),
            "product": Buffer(self.dtype, (height,), **place),
            "line": Buffer(self.dtype, (height + 1,), **place),
            "dots": Buffer(self.dtype, (terms,), **place),
            "tau": Buffer(self.dtype, (1,), **place),
        }

    def left(self, i: Expr | int, k: Expr | int) -> Load:
        """A number of L."""
        return Load("left", (whole(i), whole(k)), self.dtype)

    def right(self, k: Expr | int, i: Expr | int) -> Load:
        """A number of R."""
        return Load("right", (whole(k), whole(i)), self.dtype)

    def put_left(self, i: Expr, k: Expr, value: Expr) -> Store:
        """Store a number of L."""
        return Store("left", (i, k), value)

    def put_right(self, k: Expr, i: Expr, value: Expr) -> Store:
        """Store a number of R."""
        return Store("right", (k, i), value)

    def line(self, i: Expr) -> Load:
        """A number of a row or a column of the matrix, as it is by now."""
        return Load("line", (i,), self.dtype)

    def dot(self, k: Expr) -> Load:
        """A number of the product of L^T and a vector."""
        return Load("dots", (k,), self.dtype)

    def terms(self, stop: Expr, body: Callable[[Index], Body]) -> Loop:
        """Do `body(k)` for the terms of L R from the first to the one before `stop`."""
        return self.fresh.between(0, stop, 2 * self.block, body, "k")

    def product(self, i: Expr) -> Load:
        """A number of the product of the matrix and a vector."""
        return Load("product", (i,), self.dtype)

    def strips_from(self, strip: Expr, stop: Expr | int, body: Callable[[Index], Body]) -> Loop:
        """A loop over the strips from one to the one before `stop`."""
        return self.fresh.between(strip, whole(stop), self.a.count, body, "strip")

    def along(self, strip: Expr, body: Callable[[Expr, Index, Index], Body]) -> Loop:
        """Do `body(i, t, lane)` for each place i of a line, from those of a strip on, in lanes of strip t."""

        def of_strip(t: Index) -> Body:
            return (self.a.lanes(lambda lane: body(t * self.block + lane, t, lane)),)

        return self.strips_from(strip, self.a.count, of_strip)

    def less(
        self, strip: Expr, stop: Expr, start: Callable[[Expr, Index, Index], Expr],
        term: Callable[[Expr, Index], Expr], put: Callable[[Expr, Expr], Store],
    ) -> Loop:
        """Put `start`, less the terms from the first to the one before `stop`, for each place of a line."""

        def current(i: Expr, t: Index, lane: Index) -> Body:
            total = self.fresh.local("total", self.dtype)
            terms = self.terms(stop, lambda k: (Update(total, total - term(i, k)),))
            return Let(total, start(i, t, lane)), terms, put(i, total)

        return self.along(strip, current)

    def reflection(
        self, at: Expr, strip: Expr, wide: DType, put: Callable[[Expr, Expr], Store]
    ) -> tuple[Householder, Body]:
        """Make the reflection that leaves of a line, from `at` on, its first number alone; store v and tau.

        What v has before `at` are zeros, from the beginning of the strip on.
        """
        fresh, dtype = self.fresh, self.dtype
        below, alpha = fresh.local("below", wide), fresh.local("alpha", dtype)
        made = Householder(fresh, alpha, below)

        def square(i: Expr, t: Index, lane: Index) -> Body:
            x = square_of_size(self.line(i), wide)
            return (Update(below, below + scalar.select(i > at, x, Const(0.0, wide)), "add"),)

        def vector(i: Expr, t: Index, lane: Index) -> Body:
            first = scalar.select(scalar.eq(i, at), Const(1.0, dtype), self.zero)
            return (put(i, scalar.select(i > at, self.line(i) * made.scale, first)),)

        return made, (
            Let(alpha, self.line(at)),
            Let(below, Const(0.0, wide)),
            self.along(strip, square),
            *made.lets,
            Store("tau", (Const(0, int64),), made.tau),
            self.along(strip, vector),
        )

    def dots(self, strip: Expr, vector: Callable[[Expr], Expr]) -> Loop:
        """Multiply L^T and a vector, from the rows of a strip on."""

        def lanes(lane: Index) -> Body:
            sums = [[self.fresh.local("dot", self.dtype) for _ in range(self.sums)] for _ in range(2)]

            def terms(group: Index) -> Body:
                at = [group * self.sums + u for u in range(self.sums)]
                return tuple(
                    Update(each[u], each[u] + vector(i) * self.left(i, half * self.block + lane))
                    for u, i in enumerate(at)
                    for half, each in enumerate(sums)
                )

            count = self.a.height // self.sums
            first = strip * (self.block // self.sums)
            loop = self.fresh.between(first, whole(count), count, terms, "group")
            stores = (Store("dots", (half * self.block + lane,), _sum(x)) for half, x in enumerate(sums))
            return (*(Let(x, self.zero) for each in sums for x in each), loop, *stores)

        return self.a.lanes(lanes)

    @property
    def tau(self) -> Load:
        """The factor of the latest reflection."""
        return Load("tau", (Const(0, int64),), self.dtype)

    def multiplied(self, strip: Expr, vector: Callable[[Expr], Expr]) -> Loop:
        """Multiply columns from `strip` on, from there downwards, by a vector: as they were before `strip`.

        The product goes to `product`; `vector(i)` is a number of the vector.
        """
        a, fresh = self.a, self.fresh

        group = min(2 * self.sums, self.block)

        def of_strip(t: Index) -> Body:
            def lanes(lane: Index) -> Body:
                sums = [fresh.local("sum", self.dtype) for _ in range(group)]

                def terms(number: Index) -> Body:
                    at = [number * group + u for u in range(group)]
                    pairs = zip(sums, at, strict=True)
                    return tuple(Update(total, total + vector(i) * a.at(t, i, lane)) for total, i in pairs)

                count = a.height // group
                first = strip * (self.block // group)
                loop = fresh.between(first, whole(count), count, terms, "group")
                some = [sum(sums[u + self.sums :: self.sums], sums[u]) for u in range(self.sums)]
                store = Store("product", (t * self.block + lane,), _sum(some))
                return (*(Let(x, self.zero) for x in sums), loop, store)

            return (a.lanes(lanes),)

        return self.strips_from(strip, a.count, of_strip)

    def taken_off(self, strip: Expr, stop: Expr) -> Loop:
        """Take L R off the strips after `strip` and up to `stop`, below the rows of `strip`."""
        a = self.a

        def of_strip(t: Index) -> Body:
            def four(tile: Index) -> Body:
                def lanes(lane: Index) -> Body:
                    rows, body = a.tile(
                        [a.at(t, tile * TILE + r, lane) for r in range(TILE)],
                        Const(2 * self.block, int64),
                        lambda r, k: self.left(tile * TILE + r, k),
                        lambda k: self.right(k, t * self.block + lane),
                        2 * self.block,
                    )
                    return (*body, *(a.put(t, tile * TILE + r, lane, row) for r, row in enumerate(rows)))

                return (a.lanes(lanes),)

            tiles = a.height // TILE
            first = (strip + 1) * (self.block // TILE)
            return (self.fresh.between(first, whole(tiles), tiles, four, "tile"),)

        return self.strips_from(strip + 1, stop, of_strip)


def _sum(terms: Sequence[Expr]) -> Expr:
    """The sum of two or four terms, by pairs."""
    first, *others = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)]
    return sum(others, first)
