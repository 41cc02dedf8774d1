"""Cholesky factors and solutions of triangular systems, as statements of the kernel IR.

Each algorithm is written once, for one matrix in strips (`ops/strips.py`). It works on blocks of as many rows
as a strip has columns. The steps over blocks follow each other; in each, the strips are independent, so they
may be done by several threads. The first strip of a step also factorises its own next block on the diagonal:
then nobody waits for that.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import ALIGNMENT, Buffer, If, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.strips import (
    TILE,
    Body,
    Element,
    Fresh,
    Put,
    Scratch,
    Strips,
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
    fresh = Fresh()
    lines = 2 if columns * dtype.size >= _WIDE * ALIGNMENT else 1
    x = Strips("x", n, columns, dtype, fresh, count=1, lines=lines)
    tiles = x.height // TILE
    scratch = {
        "packed": Buffer(dtype, (tiles, x.height, TILE), written=True, local=local, shared=True),
        "inverse": Buffer(dtype, (x.height,), written=True, local=local, shared=True),
        "x": x.own_buffer(),
    }
    one = Const(1.0, dtype)

    def packed(tile: Expr, k: Expr, r: int) -> Load:
        return Load("packed", (tile, k, Const(r, int64)), dtype)

    def pack(tile: Index) -> Body:
        """Copy four rows; beyond the matrix the last one again, of which nothing is read."""
        rows = [scalar.minimum(tile * TILE + r, n - 1) for r in range(TILE)]

        def at(k: Index) -> Body:
            return tuple(
                Store("packed", (tile, k, Const(r, int64)), matrix(i, k)) for r, i in enumerate(rows)
            )

        scales = [one if unit else one / matrix(i, i) for i in rows]
        diagonal = (Store("inverse", (tile * TILE + r,), scale) for r, scale in enumerate(scales))
        return (fresh.between(0, tile * TILE + TILE, n, at, "k"), *diagonal)

    def rows_of(tile: Index, start: Expr | int) -> Body:
        first = tile * TILE

        def lanes(lane: Index) -> Body:
            rows, body = x.tile(
                [x.at(0, first + r, lane) for r in range(TILE)],
                first,
                lambda r, k: packed(tile, k, r),
                lambda k: x.at(0, k, lane),
                x.height,
                start,
            )
            found, rest = x.substituted(
                rows, lambda r, q: packed(tile, first + q, r), lambda r: Load("inverse", (first + r,), dtype)
            )
            return (*body, *rest, *(x.put(0, first + r, lane, value) for r, value in enumerate(found)))

        return (x.lanes(lanes),)

    def solve(strip: Index) -> Body:
        tiles = -(-n // TILE)
        start = strip * x.width if lower_rhs else whole(0)

        def of_rows(tile: Index) -> Body:
            return rows_of(tile, start)

        return (
            *x.columns_of(strip, lambda i, lane, column: x.put(0, i, lane, rhs(i, column))),
            fresh.between(start // TILE, whole(tiles), tiles, of_rows, "tile")
            if lower_rhs
            else fresh.each(tiles, of_rows, "tile"),
            *x.columns_of(strip, lambda i, lane, column: put(i, column, x.at(0, i, lane))),
        )

    tile, strip = fresh.index("tile", -(-n // TILE)), fresh.index("strip", -(-columns // x.width))
    return (
        Loop(tile, pack(tile), LoopKind.PARALLEL),
        Loop(strip, solve(strip), LoopKind.PARALLEL),
    ), scratch


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
    fresh = Fresh()
    u = Strips("u", n, n, dtype, fresh)
    block, count = u.width, u.count
    scratch = {
        "u": u.buffer(local),
        "inverse": Buffer(dtype, (u.height,), written=True, local=local, shared=True),
    }

    def read(strip: Index) -> Body:
        rest = n % block

        def whole(i: Index) -> Body:
            return (u.lanes(lambda lane: (u.put(strip, i, lane, matrix(strip * block + lane, i)),)),)

        def last(i: Index) -> Body:
            def lane(lane: Index) -> Body:
                column = (count - 1) * block + lane
                inside = matrix(scalar.minimum(column, n - 1), scalar.minimum(i, n - 1))
                beyond = scalar.select(scalar.eq(i, column), Const(1.0, dtype), Const(0.0, dtype))
                return (u.put(count - 1, i, lane, scalar.select(lane < rest, inside, beyond)),)

            return (u.lanes(lane),)

        rows = fresh.between(
            0, (strip + 1) * block, count * block if not rest else (count - 1) * block, whole, "i"
        )
        if not rest:
            return (rows,)
        end = If(scalar.eq(strip, count - 1), (fresh.each(count * block, last),))
        return (end,) if count == 1 else (If(strip < count - 1, (rows,)), end)

    def updated(
        strip: Expr, from_strip: Expr, first: Expr, terms: Expr, lane: Index
    ) -> tuple[list[Local], Body]:
        """Four rows of `strip`, from `first` on, without what the rows above make of them."""
        in_block = first - from_strip * block
        return u.tile(
            [u.at(strip, first + r, lane) for r in range(TILE)],
            terms,
            lambda r, k: scalar.conjugate(u.at(from_strip, k, in_block + r)),
            lambda k: u.at(strip, k, lane),
            u.height,
        )

    def diagonal(strip: Expr) -> Body:
        """Factorise the block on the diagonal of `strip`."""

        def rows_of(quarter: Index) -> Body:
            def lanes(lane: Index) -> Body:
                first = strip * block + quarter * TILE
                rows, body = updated(strip, strip, first, strip * block, lane)
                return (*body, *(u.put(strip, first + r, lane, row) for r, row in enumerate(rows)))

            return (u.lanes(lanes),)

        def row_of(j: Index) -> Body:
            row = strip * block + j

            def without(lane: Index) -> Body:
                total = fresh.local("total", dtype)

                def term(k: Index) -> Body:
                    above = strip * block + k
                    left = scalar.conjugate(u.at(strip, above, j))
                    return (Update(total, total - left * u.at(strip, above, lane)),)

                start = Let(total, u.at(strip, row, lane))
                return start, fresh.between(0, j, block, term, "k"), u.put(strip, row, lane, total)

            scale = fresh.local("scale", dtype)
            return (
                u.lanes(without),
                Let(scale, Const(1.0, dtype) / root_of_real(u.at(strip, row, j))),
                Store("inverse", (row,), scale),
                u.lanes(lambda lane: (u.put(strip, row, lane, u.at(strip, row, lane) * scale),)),
            )

        return fresh.each(block // TILE, rows_of, "quarter"), fresh.each(block, row_of, "j")

    def step(s: Index) -> Body:
        def strip_of(strip: Index) -> Body:
            def rows_of(quarter: Index) -> Body:
                def lanes(lane: Index) -> Body:
                    first = s * block + quarter * TILE
                    rows, body = updated(strip, s, first, first, lane)
                    found, rest = u.substituted(
                        rows,
                        lambda r, q: scalar.conjugate(u.at(s, first + q, quarter * TILE + r)),
                        lambda r: Load("inverse", (first + r,), dtype),
                    )
                    return (*body, *rest, *(u.put(strip, first + r, lane, x) for r, x in enumerate(found)))

                return (u.lanes(lanes),)

            next_block = If(scalar.eq(strip, s + 1), diagonal(strip))
            return fresh.each(block // TILE, rows_of, "quarter"), next_block

        return (u.strips_after(s, strip_of),)

    def write(strip: Index) -> Body:
        def rows(width: int) -> Body:
            def row(j: Index) -> Body:
                line = strip * block + j
                lower = fresh.between(0, line + 1, n, lambda i: (put(line, i, u.at(strip, i, j)),), "i")
                zero, end = Const(0.0, dtype), Const(n, int64)
                return lower, fresh.between(line + 1, end, n, lambda i: (put(line, i, zero),), "i")

            return (fresh.each(width, row),)

        whole, rest = divmod(n, block)
        if not rest:
            return rows(block)
        if not whole:
            return rows(rest)
        return If(strip < whole, rows(block)), If(scalar.eq(strip, whole), rows(rest))

    zero = Const(0, int64)
    first = (u.each_strip(read), *diagonal(zero))
    steps = (fresh.each(count - 1, step, "step"),) if count > 1 else ()
    return (*first, *steps, u.each_strip(write)), scratch
