"""Gaussian elimination with exchanges of rows, as statements of the kernel IR: L U of a matrix in strips.

After the columns of a strip are done, from the diagonal downwards, all strips behind it take part: their rows
are exchanged as those of the strip were, and what the strip has below the diagonal is taken off them.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import Buffer, If, Let, Loop, Store, Update
from staticgraph.compiler.ops.strips import TILE, Body, Element, Fresh, Put, Scratch, Strips, size_of_pivot

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
    fresh = Fresh()
    a = Strips("a", n, n, dtype, fresh)
    block, count = a.width, a.count
    place = {"written": True, "local": local, "shared": True}
    scratch = {
        "a": a.buffer(local),
        "pivots": Buffer(int64, (a.height,), **place),
        "order": Buffer(int64, (a.height,), **place),
        **{name: Buffer(dtype, (block,), written=True, local=True) for name in ("first", "pivoted")},
    }

    def pivot(row: Expr) -> Load:
        return Load("pivots", (row,), int64)

    def read_rows(strip: Index) -> Body:
        return a.columns_of(strip, lambda i, lane, column: a.put(strip, i, lane, matrix(i, column)))

    def read(strip: Index) -> Body:
        """Fill a strip; beyond the matrix come rows and columns of a unit matrix."""
        if not n % block:
            return read_rows(strip)
        zero = Const(0.0, dtype)

        def zeros(first: int | Expr, rows: int) -> Loop:
            return fresh.between(
                first,
                Const(a.height, int64),
                a.height,
                lambda i: (a.lanes(lambda lane: (a.put(strip, i, lane, zero),)),),
                "i",
            )

        last = count - 1
        ones = fresh.each(
            a.height - n, lambda i: (a.put(last, i + n, i + n - last * block, Const(1.0, dtype)),)
        )
        below = If(strip < last, (zeros(n, a.height),)) if count > 1 else None
        whole = If(scalar.eq(strip, last), (zeros(0, a.height),))
        return tuple(s for s in (below, whole) if s) + (
            *read_rows(strip),
            If(scalar.eq(strip, last), (ones,)),
        )

    def exchange(strip: Expr, row: Expr, other: Local) -> Loop:
        def lanes(lane: Index) -> Body:
            held = fresh.local("held", dtype)
            return (
                Let(held, a.at(strip, row, lane)),
                a.put(strip, row, lane, a.at(strip, other, lane)),
                a.put(strip, other, lane, held),
            )

        return a.lanes(lanes)

    def exchanged(strip: Expr, s: Expr) -> Loop:
        """Exchange the rows of a strip as those of strip `s` were."""

        def row(j: Index) -> Body:
            other = fresh.local("other", int64)
            first = s * block + j
            return Let(other, inside(pivot(first))), If(other > first, (exchange(strip, first, other),))

        return fresh.each(block, row, "j")

    def inside(row: Expr) -> Expr:
        return scalar.minimum(scalar.maximum(row, 0), a.height - 1)

    def panel(strip: Expr, pivoted: str) -> Body:
        """Factorise the columns of a strip, from its diagonal block downwards.

        `pivoted` is the scratch memory for the pivot's row: each statement of the kernel has its own.
        """

        def column(j: Index) -> Body:
            first = strip * block + j
            best, size = (fresh.local(name, dtype.real_dtype) for name in ("best", "size"))
            at = fresh.local("at", int64)

            def search(i: Index) -> Body:
                larger = size > best
                return (
                    Let(size, size_of_pivot(a.at(strip, i, j))),
                    Update(at, scalar.select(larger, i, at)),
                    Update(best, scalar.select(larger, size, best)),
                )

            def keep(lane: Index) -> Body:
                value = scalar.select(lane > j, a.at(strip, first, lane), Const(0.0, dtype))
                return (Store(pivoted, (lane,), value),)

            value, scale = fresh.local("pivot", dtype), fresh.local("scale", dtype)

            def eliminate(i: Index) -> Body:
                factor = fresh.local("factor", dtype)

                def lanes(lane: Index) -> Body:
                    row = a.at(strip, i, lane) - factor * Load(pivoted, (lane,), dtype)
                    return (a.put(strip, i, lane, row),)

                return Let(factor, a.at(strip, i, j) * scale), a.lanes(lanes), a.put(strip, i, j, factor)

            end = Const(a.height, int64)
            one = Const(1.0, dtype)
            return (
                Let(best, size_of_pivot(a.at(strip, first, j))),
                Let(at, first),
                fresh.between(first + 1, end, a.height, search, "i"),
                Store("pivots", (first,), at),
                If(at > first, (exchange(strip, first, at),)),
                Let(value, a.at(strip, first, j)),
                Let(scale, one / scalar.select(scalar.eq(value, Const(0.0, dtype)), one, value)),
                a.lanes(keep),
                fresh.between(first + 1, end, a.height, eliminate, "i"),
            )

        return (fresh.each(block, column, "j"),)

    def step(s: Index) -> Body:
        first = s * block

        def strip_of(strip: Index) -> Body:
            def upper(j: Index) -> Body:
                def lanes(lane: Index) -> Body:
                    total = fresh.local("total", dtype)

                    def term(k: Index) -> Body:
                        return (Update(total, total - a.at(s, first + j, k) * a.at(strip, first + k, lane)),)

                    start = Let(total, a.at(strip, first + j, lane))
                    return start, fresh.between(0, j, block, term, "k"), a.put(strip, first + j, lane, total)

                return (a.lanes(lanes),)

            def below(tile: Index) -> Body:
                def lanes(lane: Index) -> Body:
                    rows, body = a.tile(
                        [a.at(strip, tile * TILE + r, lane) for r in range(TILE)],
                        Const(block, int64),
                        lambda r, k: a.at(s, tile * TILE + r, k),
                        lambda k: a.at(strip, first + k, lane),
                        block,
                    )
                    return (*body, *(a.put(strip, tile * TILE + r, lane, row) for r, row in enumerate(rows)))

                return (a.lanes(lanes),)

            tiles = a.height // TILE
            return (
                exchanged(strip, s),
                fresh.each(block, upper, "j"),
                fresh.between((s + 1) * (block // TILE), Const(tiles, int64), tiles, below, "tile"),
                If(scalar.eq(strip, s + 1), panel(strip, "pivoted")),
            )

        return (a.strips_after(s, strip_of),)

    def write(strip: Index) -> Body:
        later = fresh.between(strip + 1, Const(count, int64), count, lambda s: (exchanged(strip, s),), "step")
        return (later, *a.columns_of(strip, lambda i, lane, column: put(i, column, a.at(strip, i, lane))))

    def ordered() -> Body:
        def swap(i: Index) -> Body:
            held, other = fresh.local("held", int64), fresh.local("other", int64)
            return (
                Let(other, inside(pivot(i))),
                Let(held, Load("order", (i,), int64)),
                Store("order", (i,), Load("order", (other,), int64)),
                Store("order", (other,), held),
            )

        return (
            fresh.each(a.height, lambda i: (Store("order", (i,), i),)),
            fresh.each(n, swap),
            fresh.each(n, lambda i: (put_order(i, Load("order", (i,), int64)),)),
        )

    steps = (fresh.each(count - 1, step, "step"),) if count > 1 else ()
    zero = Const(0, int64)
    return (a.each_strip(read), *panel(zero, "first"), *steps, a.each_strip(write), *ordered()), scratch
