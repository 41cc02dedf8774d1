"""Cholesky factors and solutions of triangular systems, as statements of the kernel IR.

Each algorithm is written once, for one matrix in strips (`statements/strips.py`). It works on blocks of as
many rows as a strip has columns. The steps over blocks follow each other; in each, the strips are
independent, so they may be done by several threads. The first strip of a step also factorises its own next
block on the diagonal: then nobody waits for that.
"""

from __future__ import annotations

import operator

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.sizes import AnySize, Size, proven, same, several
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import ALIGNMENT, Buffer, If, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.statements.loops import first_of, nested
from staticgraph.compiler.ops.statements.strips import (
    TILE,
    Body,
    Element,
    Fresh,
    Put,
    Scratch,
    Strips,
    by_strips,
    root_of_real,
    whole,
)

_WIDE = 8  # cache lines of right sides, from which on two are solved at once: twice as many independent sums


def triangular_solution(
    n: int,
    columns: int,
    matrix: Element,
    rhs: Element,
    put: Put,
    unit: bool,
    local: bool,
    dtype: DType,
    lower_rhs: bool = False,
) -> tuple[Body, Scratch]:
    """Solve L X = B by forward substitution, one strip of B after the other.

    Args:
        n: The number of rows.
        columns: The number of columns of B.
        matrix: The numbers of L, asked for up to the diagonal.
        rhs: The numbers of B.
        put: Stores a number of X.
        unit: True if the diagonal of L counts as ones.
        local: True if one thread does all of it.
        dtype: That of the numbers.
        lower_rhs: True if B, and so X, has zeros above its diagonal.

    Returns:
        The statements, and their scratch memory: L in tiles of rows, in the order in which it is read, and a
        strip of X for each thread.
    """
    lines = 2 if proven(operator.ge, columns * dtype.size, _WIDE * ALIGNMENT) else 1
    forward = _Substitution(n, columns, dtype, lines)
    x = forward.x
    scratch = {
        "packed": Buffer(
            dtype, (x.height // TILE, x.height, TILE), written=True, local=local, shared=True
        ),
        "inverse": Buffer(dtype, (x.height,), written=True, local=local, shared=True),
        "x": x.own_buffer(),
    }
    tile = forward.fresh.index("tile", forward.tiles)
    strip = forward.fresh.index("strip", -(-columns // x.width))
    return (
        Loop(tile, forward.pack(tile, matrix, unit), LoopKind.PARALLEL),
        Loop(strip, forward.solve(strip, rhs, put, lower_rhs), LoopKind.PARALLEL),
    ), scratch


class _Substitution:
    """Forward substitution for a strip `x` of right sides, with the triangle packed in tiles of four rows."""

    def __init__(self, n: int, columns: int, dtype: DType, lines: int) -> None:
        self.n, self.dtype, self.fresh = n, dtype, Fresh()
        self.x = Strips("x", n, columns, dtype, self.fresh, count=1, lines=lines)
        # Of an open number of rows, those beyond the matrix are solved for, too: nobody reads them.
        self.tiles = self.x.height // TILE if isinstance(n, Size) else -(-n // TILE)

    def pack(self, tile: Index, matrix: Element, unit: bool) -> Body:
        """Copy four rows; beyond the matrix the last row and column again, of which nothing is read."""
        one, whole_tiles = Const(1.0, self.dtype), same(self.n % TILE, 0)
        rows = [scalar.minimum(tile * TILE + r, self.n - 1) for r in range(TILE)]

        def at(k: Index) -> Body:
            column = k if whole_tiles else scalar.minimum(k, self.n - 1)
            return tuple(
                Store("packed", (tile, k, Const(r, int64)), matrix(i, column)) for r, i in enumerate(rows)
            )

        scales = [one if unit else one / matrix(i, i) for i in rows]
        diagonal = (Store("inverse", (tile * TILE + r,), scale) for r, scale in enumerate(scales))
        return (self.fresh.between(0, tile * TILE + TILE, self.tiles * TILE, at, "k"), *diagonal)

    def solve(self, strip: Index, rhs: Element, put: Put, lower_rhs: bool) -> Body:
        """Read a strip of B, solve for one tile of rows after the other, and store it."""
        x, tiles = self.x, self.tiles
        start = strip * x.width if lower_rhs else whole(0)

        def rows_of(tile: Index) -> Body:
            return self._rows(tile, start)

        return (
            *self._clear(strip),
            *x.columns_of(strip, lambda i, lane, column: x.put(0, i, lane, rhs(i, column))),
            self.fresh.between(start // TILE, whole(tiles), tiles, rows_of, "tile")
            if lower_rhs
            else self.fresh.each(tiles, rows_of, "tile"),
            *x.columns_of(strip, lambda i, lane, column: put(i, column, x.at(0, i, lane))),
        )

    def _clear(self, strip: Index) -> Body:
        """Clear what is beyond B and solved for, too: numbers left there may be subnormal, which are slow."""
        x = self.x
        below = () if same(self.n % TILE, 0) else (x.zeros(0, self.n),)
        if same(x.columns % x.width, 0):
            return below
        return (*below, If(scalar.eq(strip, whole(x.columns // x.width)), (x.zeros(0),)))

    def _rows(self, tile: Index, start: Expr) -> Body:
        """Four rows of X: B less what the rows before make of it, then the triangle on the diagonal."""
        x, first = self.x, tile * TILE

        def packed(k: Expr, r: int) -> Load:
            return Load("packed", (tile, k, Const(r, int64)), self.dtype)

        def lanes(lane: Index) -> Body:
            rows, body = x.tile(
                [x.at(0, first + r, lane) for r in range(TILE)],
                first,
                lambda r, k: packed(k, r),
                lambda k: x.at(0, k, lane),
                x.height,
                start,
            )
            found, rest = x.substituted(
                rows, lambda r, q: packed(first + q, r), lambda r: Load("inverse", (first + r,), self.dtype)
            )
            return (*body, *rest, *(x.put(0, first + r, lane, value) for r, value in enumerate(found)))

        return (x.lanes(lanes),)


def cholesky_factor(n: int, matrix: Element, put: Put, local: bool, dtype: DType) -> tuple[Body, Scratch]:
    """Factorise a positive definite matrix into L and its transpose.

    Args:
        n: The number of rows.
        matrix: The numbers of the matrix, asked for up to the diagonal.
        put: Stores a number of L, and the zeros above its diagonal.
        local: True if one thread does all of it.
        dtype: That of the numbers.

    Returns:
        The statements, and their scratch memory: the transpose of L in strips. If the matrix is not positive
        definite, then some number on the diagonal of L is not greater than zero.
    """
    cholesky = _Cholesky(n, dtype)
    u, count = cholesky.u, cholesky.u.count
    scratch = {
        "u": u.buffer(local),
        "inverse": Buffer(dtype, (u.height,), written=True, local=local, shared=True),
    }
    first_strip, once = first_of(count)
    first = (
        u.each_strip(lambda strip: cholesky.read(strip, matrix)),
        *nested(once, cholesky.diagonal_block(first_strip)),
    )
    steps = (cholesky.fresh.each(count - 1, cholesky.step, "step"),) if several(count) else ()
    return (*first, *steps, u.each_strip(lambda strip: cholesky.write(strip, put))), scratch


class _Cholesky:
    """The left-looking blocked algorithm of LAPACK's potrf, for the factor U = L* in the strips `u`."""

    def __init__(self, n: int, dtype: DType) -> None:
        self.n, self.dtype, self.fresh = n, dtype, Fresh()
        self.u = Strips("u", n, n, dtype, self.fresh)

    def read(self, strip: Index, matrix: Element) -> Body:
        """Fill a strip down to its diagonal block; beyond the matrix comes a unit matrix."""
        u, n, count = self.u, self.n, self.u.count
        last = count - 1
        rest = 0 if same(n % u.width, 0) else n - last * u.width  # columns of a last strip

        def row(i: Index) -> Body:
            return (u.lanes(lambda lane: (u.put(strip, i, lane, matrix(strip * u.width + lane, i)),)),)

        def row_of_last(i: Index) -> Body:
            def lane(lane: Index) -> Body:
                column = last * u.width + lane
                inside = matrix(scalar.minimum(column, n - 1), scalar.minimum(i, n - 1))
                beyond = scalar.select(scalar.eq(i, column), Const(1.0, self.dtype), Const(0.0, self.dtype))
                return (u.put(last, i, lane, scalar.select(lane < rest, inside, beyond)),)

            return (u.lanes(lane),)

        most = count if same(rest, 0) else last
        rows = self.fresh.between(0, (strip + 1) * u.width, most * u.width, row, "i")
        if same(rest, 0):
            return (rows,)
        end = If(scalar.eq(strip, last), (self.fresh.each(count * u.width, row_of_last),))
        return (end,) if same(count, 1) else (If(strip < last, (rows,)), end)

    def step(self, s: Index) -> Body:
        """Compute block row `s` of U in all strips behind, and the next block on the diagonal."""
        u = self.u

        def behind(strip: Index) -> Body:
            next_block = If(scalar.eq(strip, s + 1), self.diagonal_block(strip))
            return (
                self.fresh.each(u.width // TILE, lambda quarter: self._solve(strip, s, quarter), "quarter"),
                next_block,
            )

        return (u.strips_after(s, behind),)

    def _solve(self, strip: Expr, s: Expr, quarter: Index) -> Body:
        """Four rows of U beside the diagonal block: the triangle of strip `s` is solved for them (trsm)."""
        u, first = self.u, s * self.u.width + quarter * TILE

        def lanes(lane: Index) -> Body:
            rows, body = self._updated(strip, s, first, first, lane)
            found, rest = u.substituted(
                rows,
                lambda r, q: scalar.conjugate(u.at(s, first + q, quarter * TILE + r)),
                lambda r: Load("inverse", (first + r,), self.dtype),
            )
            return (*body, *rest, *(u.put(strip, first + r, lane, x) for r, x in enumerate(found)))

        return (u.lanes(lanes),)

    def _updated(
        self, strip: Expr, from_strip: Expr, first: Expr, terms: Expr, lane: Index
    ) -> tuple[list[Local], Body]:
        """Four rows of `strip`, from `first` on, without what the rows above make of them (gemm, herk)."""
        u, in_block = self.u, first - from_strip * self.u.width
        return u.tile(
            [u.at(strip, first + r, lane) for r in range(TILE)],
            terms,
            lambda r, k: scalar.conjugate(u.at(from_strip, k, in_block + r)),
            lambda k: u.at(strip, k, lane),
            u.height,
        )

    def diagonal_block(self, strip: Expr) -> Body:
        """Factorise the block on the diagonal of `strip`, row after row (potf2)."""
        u = self.u

        def update(quarter: Index) -> Body:
            def lanes(lane: Index) -> Body:
                first = strip * u.width + quarter * TILE
                rows, body = self._updated(strip, strip, first, strip * u.width, lane)
                return (*body, *(u.put(strip, first + r, lane, row) for r, row in enumerate(rows)))

            return (u.lanes(lanes),)

        return (
            self.fresh.each(u.width // TILE, update, "quarter"),
            self.fresh.each(u.width, lambda j: self._row(strip, j), "j"),
        )

    def _row(self, strip: Expr, j: Index) -> Body:
        """A row of the block on the diagonal: without the rows above, over the root of its first number."""
        u, row = self.u, strip * self.u.width + j

        def without(lane: Index) -> Body:
            total = self.fresh.local("total", self.dtype)

            def term(k: Index) -> Body:
                above = strip * u.width + k
                left = scalar.conjugate(u.at(strip, above, j))
                return (Update(total, total - left * u.at(strip, above, lane)),)

            start = Let(total, u.at(strip, row, lane))
            return start, self.fresh.between(0, j, u.width, term, "k"), u.put(strip, row, lane, total)

        scale = self.fresh.local("scale", self.dtype)
        return (
            u.lanes(without),
            Let(scale, Const(1.0, self.dtype) / root_of_real(u.at(strip, row, j))),
            Store("inverse", (row,), scale),
            u.lanes(lambda lane: (u.put(strip, row, lane, u.at(strip, row, lane) * scale),)),
        )

    def write(self, strip: Index, put: Put) -> Body:
        """Store the rows of L that a strip has as columns, and the zeros behind them."""
        u, n = self.u, self.n

        def rows(here: Expr, width: AnySize) -> Body:
            def row(j: Index) -> Body:
                line = here * u.width + j
                zero, end = Const(0.0, self.dtype), whole(n)
                return (
                    self.fresh.between(0, line + 1, n, lambda i: (put(line, i, u.at(strip, i, j)),), "i"),
                    self.fresh.between(line + 1, end, n, lambda i: (put(line, i, zero),), "i"),
                )

            return (self.fresh.each(width, row),)

        return by_strips(strip, n, u.width, rows)
