"""Gaussian elimination with exchanges of rows, as statements of the kernel IR: L U of a matrix in strips.

The right-looking blocked algorithm of LAPACK's getrf: after the columns of a strip, its panel, are
factorised, all strips behind it take part. Their rows are exchanged as those of the strip were, the triangle
on the diagonal is solved for their rows beside it, and the product of both is taken off what lies below.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.sizes import AnySize, same, several
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, Store, Update
from staticgraph.compiler.ops.statements.loops import first_of, nested
from staticgraph.compiler.ops.statements.strips import (
    TILE,
    Body,
    Element,
    Fresh,
    Put,
    Scratch,
    Strips,
    size_of_pivot,
    whole,
)

PutOrder = Callable[[Expr, Expr], Store]  # that of a row of the result, and which row of the matrix it is


def lu_factors(
    n: int, matrix: Element, put: Put, put_order: PutOrder, local: bool, dtype: DType
) -> tuple[Body, Scratch]:
    """Factorise a matrix whose rows are exchanged so that each pivot is the largest of its column.

    Args:
        n: The number of rows.
        matrix: The numbers of the matrix.
        put: Stores a number of L below the diagonal, or of U.
        put_order: Stores, for a row of L U, its number (an int64) in the matrix.
        local: True if one thread does all of it.
        dtype: That of the numbers.

    Returns:
        The statements, and their scratch memory: both factors in strips. If the matrix is singular, then some
        number on the diagonal of U is zero.
    """
    lu = _Elimination(n, dtype)
    a, count = lu.a, lu.a.count
    place = {"written": True, "local": local, "shared": True}
    scratch = {
        "a": a.buffer(local),
        "pivots": Buffer(int64, (a.height,), **place),
        "order": Buffer(int64, (a.height,), **place),
        **{name: Buffer(dtype, (a.width,), written=True, local=True) for name in ("first", "pivoted")},
    }
    steps = (lu.fresh.each(count - 1, lu.step, "step"),) if several(count) else ()
    first, once = first_of(count)
    return (
        a.each_strip(lambda strip: lu.read(strip, matrix)),
        *nested(once, lu.panel(first, "first")),
        *steps,
        a.each_strip(lambda strip: lu.write(strip, put)),
        *lu.permutation(put_order),
    ), scratch


class _Elimination:
    """The parts of the algorithm, for a matrix of `n` rows in the strips `a`."""

    def __init__(self, n: int, dtype: DType) -> None:
        self.n, self.dtype, self.fresh = n, dtype, Fresh()
        self.a = Strips("a", n, n, dtype, self.fresh)
        self.zero, self.one = Const(0.0, dtype), Const(1.0, dtype)

    def read(self, strip: Index, matrix: Element) -> Body:
        """Fill a strip; beyond the matrix come rows and columns of a unit matrix."""
        a, n = self.a, self.n
        last, beyond = a.count - 1, a.height - n

        def numbers() -> Body:
            return a.columns_of(strip, lambda i, lane, column: a.put(strip, i, lane, matrix(i, column)))

        if same(n % a.width, 0):
            return numbers()
        ones = self.fresh.each(beyond, lambda i: (a.put(last, i + n, i + n - last * a.width, self.one),))
        below = (If(strip < last, (a.zeros(strip, n),)),) if not same(last, 0) else ()
        whole = If(scalar.eq(strip, last), (a.zeros(strip),))
        return (*below, whole, *numbers(), If(scalar.eq(strip, last), (ones,)))

    def _rows(self, first: Expr | AnySize, body: Callable[[Index], Body]) -> Loop:
        """A loop over the rows from `first` on, those beyond the matrix, too."""
        return self.fresh.between(first, whole(self.a.height), self.a.height, body, "i")

    def panel(self, strip: Expr, pivoted: str) -> Body:
        """Factorise the columns of a strip, from its diagonal block downwards (getf2).

        `pivoted` is the scratch memory for the pivot's row: each statement of the kernel has its own.
        """
        return (self.fresh.each(self.a.width, lambda j: self._column(strip, pivoted, j), "j"),)

    def _column(self, strip: Expr, pivoted: str, j: Index) -> Body:
        """Choose the pivot of a column, and take multiples of its row off the rows below."""
        a, local = self.a, self.fresh.local
        first = strip * a.width + j
        best, size = (local(name, self.dtype.real_dtype) for name in ("best", "size"))
        at = local("at", int64)
        pivot, scale = local("pivot", self.dtype), local("scale", self.dtype)

        def search(i: Index) -> Body:
            larger = size > best
            return (
                Let(size, size_of_pivot(a.at(strip, i, j))),
                Update(at, scalar.select(larger, i, at)),
                Update(best, scalar.select(larger, size, best)),
            )

        return (
            Let(best, size_of_pivot(a.at(strip, first, j))),
            Let(at, first),
            self._rows(first + 1, search),
            Store("pivots", (first,), at),
            If(at > first, (self._exchange(strip, first, at),)),
            Let(pivot, a.at(strip, first, j)),
            Let(scale, self.one / scalar.select(scalar.eq(pivot, self.zero), self.one, pivot)),
            *self._rank_one_update(strip, pivoted, j, first, scale),
        )

    def _rank_one_update(self, strip: Expr, pivoted: str, j: Index, first: Expr, scale: Local) -> Body:
        """Take the product of the column's multipliers and the pivot's row off the panel below."""
        a, dtype = self.a, self.dtype

        def keep(lane: Index) -> Body:
            value = scalar.select(lane > j, a.at(strip, first, lane), self.zero)
            return (Store(pivoted, (lane,), value),)

        def eliminate(i: Index) -> Body:
            factor = self.fresh.local("factor", dtype)

            def lanes(lane: Index) -> Body:
                row = a.at(strip, i, lane) - factor * Load(pivoted, (lane,), dtype)
                return (a.put(strip, i, lane, row),)

            return Let(factor, a.at(strip, i, j) * scale), a.lanes(lanes), a.put(strip, i, j, factor)

        return a.lanes(keep), self._rows(first + 1, eliminate)

    def step(self, s: Index) -> Body:
        """Bring all strips behind strip `s` up to date, and factorise the panel of the next one."""
        a, tiles = self.a, self.a.height // TILE

        def behind(strip: Index) -> Body:
            return (
                self._interchanges(strip, s),
                self.fresh.each(a.width, lambda j: self._solve_row(strip, s, j), "j"),
                self.fresh.between(
                    (s + 1) * (a.width // TILE),
                    whole(tiles),
                    tiles,
                    lambda tile: self._update(strip, s, tile),
                    "tile",
                ),
                If(scalar.eq(strip, s + 1), self.panel(strip, "pivoted")),
            )

        return (a.strips_after(s, behind),)

    def _interchanges(self, strip: Expr, s: Expr) -> Loop:
        """Exchange the rows of a strip as those of strip `s` were (laswp)."""

        def row(j: Index) -> Body:
            other = self.fresh.local("other", int64)
            first = s * self.a.width + j
            return (
                Let(other, self._pivot(first)),
                If(other > first, (self._exchange(strip, first, other),)),
            )

        return self.fresh.each(self.a.width, row, "j")

    def _exchange(self, strip: Expr, row: Expr, other: Local) -> Loop:
        a = self.a

        def lanes(lane: Index) -> Body:
            held = self.fresh.local("held", self.dtype)
            return (
                Let(held, a.at(strip, row, lane)),
                a.put(strip, row, lane, a.at(strip, other, lane)),
                a.put(strip, other, lane, held),
            )

        return a.lanes(lanes)

    def _pivot(self, row: Expr) -> Expr:
        """The row that was exchanged for `row`. A store at it is inside the strip, whatever is in memory."""
        return scalar.minimum(scalar.maximum(Load("pivots", (row,), int64), 0), self.a.height - 1)

    def _solve_row(self, strip: Expr, s: Expr, j: Index) -> Body:
        """A row of U beside the diagonal block: the unit triangle of strip `s` is solved for it (trsm)."""
        a, first = self.a, s * self.a.width

        def lanes(lane: Index) -> Body:
            total = self.fresh.local("total", self.dtype)

            def term(k: Index) -> Body:
                return (Update(total, total - a.at(s, first + j, k) * a.at(strip, first + k, lane)),)

            return (
                Let(total, a.at(strip, first + j, lane)),
                self.fresh.between(0, j, a.width, term, "k"),
                a.put(strip, first + j, lane, total),
            )

        return (a.lanes(lanes),)

    def _update(self, strip: Expr, s: Expr, tile: Index) -> Body:
        """Take the product of L in strip `s` and U beside it off a tile of rows below both (gemm)."""
        a, first = self.a, s * self.a.width

        def lanes(lane: Index) -> Body:
            rows, body = a.tile(
                [a.at(strip, tile * TILE + r, lane) for r in range(TILE)],
                Const(a.width, int64),
                lambda r, k: a.at(s, tile * TILE + r, k),
                lambda k: a.at(strip, first + k, lane),
                a.width,
            )
            return (*body, *(a.put(strip, tile * TILE + r, lane, row) for r, row in enumerate(rows)))

        return (a.lanes(lanes),)

    def write(self, strip: Index, put: Put) -> Body:
        """Store what a strip has of both factors, after the exchanges of the steps that came later."""
        a, count = self.a, self.a.count
        later = self.fresh.between(
            strip + 1, whole(count), count, lambda s: (self._interchanges(strip, s),), "step"
        )
        return (later, *a.columns_of(strip, lambda i, lane, column: put(i, column, a.at(strip, i, lane))))

    def permutation(self, put_order: PutOrder) -> Body:
        """Store which row of the matrix each row of the factors is: all exchanges, in order."""
        fresh = self.fresh

        def swap(i: Index) -> Body:
            held, other = fresh.local("held", int64), fresh.local("other", int64)
            return (
                Let(other, self._pivot(i)),
                Let(held, Load("order", (i,), int64)),
                Store("order", (i,), Load("order", (other,), int64)),
                Store("order", (other,), held),
            )

        return (
            fresh.each(self.a.height, lambda i: (Store("order", (i,), i),)),
            fresh.each(self.n, swap),
            fresh.each(self.n, lambda i: (put_order(i, Load("order", (i,), int64)),)),
        )
