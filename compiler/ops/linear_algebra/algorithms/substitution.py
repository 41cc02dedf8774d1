"""Solutions of triangular systems with few right sides, as statements of the kernel IR.

They wait for memory: each number of the triangle is read once for each right side. So rows are read as
they lie, four at a time. Blocks of rows follow each other; what the blocks before one give is taken off in
vectors,

    x[i] -= sum over k of matrix[i, k] * x[k]       or, if columns are rows of the system,
    x[k] -= sum over i of matrix[i, k] * x[i]       for the k of all blocks that follow,

and what is left in it is a small triangle.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.sizes import AnySize, proven
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load
from staticgraph.compiler.kernel.stmt import ALIGNMENT, Buffer, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.statements.strips import TILE, Body, Element, Fresh, Put, Scratch, whole


def are_few(n: AnySize, columns: AnySize) -> bool:
    """Return True if so many right sides are sooner solved one by one than a vector of them at a time."""
    return isinstance(n, int) and proven(operator.le, columns, 8) and n >= 8 * columns


def solution_of_few(
    n: int, columns: int, matrix: Element, rhs: Element, put: Put, lower: bool, adjoint: bool, unit: bool,
    dtype: DType,
) -> tuple[Body, Scratch]:  # fmt: skip
    """Solve T X = B, each column of B by itself.

    Args:
        n: The number of rows.
        columns: The number of columns of B.
        matrix: The numbers of the matrix whose triangle counts, or their conjugates if T is its adjoint.
        rhs: The numbers of B.
        put: Stores a number of X.
        lower: True for the lower triangle, False for the upper one.
        adjoint: True if T is the adjoint of the triangle.
        unit: True if the diagonal counts as ones.
        dtype: That of the numbers.

    Returns:
        The statements, and their scratch memory: a column, for each thread.
    """
    made = _Substitution(n, matrix, lower, adjoint, unit, dtype)
    column = made.fresh.index("column", columns)
    body = (
        made.fresh.each(n, lambda i: (made.put(i, rhs(i, column)),)),
        *made.blocks(),
        made.fresh.each(n, lambda i: (put(i, column, made.x(i)),)),
    )
    scratch = {
        "x": Buffer(dtype, (n,), written=True, local=True),
        "parts": Buffer(dtype, (TILE, made.width), written=True, local=True),
    }
    return (Loop(column, body, LoopKind.PARALLEL),), scratch


class _Substitution:
    def __init__(self, n: int, matrix: Element, lower: bool, adjoint: bool, unit: bool, dtype: DType) -> None:
        self.matrix, self.lower, self.adjoint, self.unit, self.dtype = matrix, lower, adjoint, unit, dtype
        self.fresh, self.zero = Fresh(), Const(0.0, dtype)
        self.width = ALIGNMENT // dtype.size
        self.full, self.rest = divmod(n, self.width)
        self.base = 0 if lower else self.rest  # of the blocks that are whole: another one is at the far end

    def x(self, i: Expr) -> Load:
        """A number of the column: of B at first, of X in the end."""
        return Load("x", (i,), self.dtype)

    def put(self, i: Expr, value: Expr) -> Store:
        """Store a number of the column."""
        return Store("x", (i,), value)

    def blocks(self) -> Body:
        """All blocks, each after those that it depends on."""
        forward = self.lower != self.adjoint

        def whole_block(number: Index) -> Body:
            s = number if forward else self.full - 1 - number
            first, stop = (whole(0), s) if self.lower else (s + 1, whole(self.full))
            return self._block(self.base + s * self.width, self.width, first, stop)

        blocks: Body = (self.fresh.each(self.full, whole_block, "block"),) if self.full else ()
        if not self.rest:
            return blocks
        start = whole(self.full * self.width if self.lower else 0)
        part = self._block(start, self.rest, whole(0), whole(self.full))
        return (*part, *blocks) if self.adjoint else (*blocks, *part)

    def _block(self, start: Expr, size: int, first: Expr, stop: Expr) -> Body:
        """The rows of a block, and the whole blocks from `first` on that it has to do with, up to `stop`."""
        tiles = [
            tuple(start + r for r in range(tile, min(tile + TILE, size))) for tile in range(0, size, TILE)
        ]
        step: Callable[..., Body] = self._follow if self.adjoint else self._depend
        others = tuple(stmt for rows in tiles for stmt in step(rows, first, stop)) if self.full else ()
        triangle = self._triangle(start, size)
        return (triangle, *others) if self.adjoint else (*others, triangle)

    def _triangle(self, start: Expr, size: int) -> Loop:
        forward = self.lower != self.adjoint

        def row(number: Index) -> Body:
            r = number if forward else size - 1 - number
            total = self.fresh.local("total", self.dtype)

            def term(k: Index) -> Body:
                q = k if forward else size - 1 - k
                at = (start + q, start + r) if self.adjoint else (start + r, start + q)
                return (Update(total, total - self.matrix(*at) * self.x(start + q)),)

            scale = Const(1.0, self.dtype) if self.unit else 1.0 / self.matrix(start + r, start + r)
            return (
                Let(total, self.x(start + r)),
                self.fresh.between(0, number, size, term, "k"),
                self.put(start + r, total * scale),
            )

        return self.fresh.each(size, row, "row")

    def _lanes(self, body: Callable[[Index], Body]) -> Loop:
        return self.fresh.lanes(self.width, body)

    def _depend(self, rows: tuple[Expr, ...], first: Expr, stop: Expr) -> Body:
        """Take what other blocks give off some rows."""

        def lanes(lane: Index) -> Body:
            sums = [self.fresh.local("sum", self.dtype) for _ in rows]

            def terms(block: Index) -> Body:
                k = self.base + block * self.width + lane
                x = self.fresh.local("x", self.dtype)
                return (
                    Let(x, self.x(k)),
                    *(Update(s, s + self.matrix(i, k) * x) for s, i in zip(sums, rows, strict=True)),
                )

            loop = self.fresh.between(first, stop, self.full, terms, "block")
            stores = (Store("parts", (whole(r), lane), s) for r, s in enumerate(sums))
            return (*(Let(s, self.zero) for s in sums), loop, *stores)

        def finished(r: int, i: Expr) -> Body:
            total = self.fresh.local("total", self.dtype)

            def add(lane: Index) -> Body:
                part = Load("parts", (whole(r), lane), self.dtype)
                return (Update(total, total + part, "add"),)

            return Let(total, self.zero), self._lanes(add), self.put(i, self.x(i) - total)

        return (self._lanes(lanes), *(stmt for r, i in enumerate(rows) for stmt in finished(r, i)))

    def _follow(self, rows: tuple[Expr, ...], first: Expr, stop: Expr) -> Body:
        """Take what some rows give off other blocks."""
        factors = [self.fresh.local("factor", self.dtype) for _ in rows]

        def of_block(block: Index) -> Body:
            def lanes(lane: Index) -> Body:
                k = self.base + block * self.width + lane
                value: Expr = self.x(k)
                for factor, i in zip(factors, rows, strict=True):
                    value = value - self.matrix(i, k) * factor
                return (self.put(k, value),)

            return (self._lanes(lanes),)

        lets = (Let(factor, self.x(i)) for factor, i in zip(factors, rows, strict=True))
        return (*lets, self.fresh.between(first, stop, self.full, of_block, "block"))
