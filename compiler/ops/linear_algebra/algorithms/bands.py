"""Solutions of tridiagonal systems by elimination in the band, as statements of the kernel IR.

A row is exchanged with the next one if that has the larger pivot; what is left is three diagonals. The rows
are eliminated once, and then each strip of right sides follows by itself, up and down the band.
"""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.sizes import AnySize, same, several
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Load, Local
from staticgraph.compiler.kernel.stmt import ALIGNMENT, Buffer, Let, Loop, LoopKind, Store, Update
from staticgraph.compiler.ops.statements.loops import first_of, nested
from staticgraph.compiler.ops.statements.strips import (
    Body,
    Element,
    Fresh,
    Put,
    Scratch,
    size_of_pivot,
    whole,
)

Diagonal = Callable[[int, Expr], Expr]  # a number of the diagonal above, the main one or that below, by row


def band_solution(
    n: AnySize,
    columns: AnySize,
    diagonal: Diagonal,
    rhs: Element,
    put: Put,
    pivots: bool,
    local: bool,
    dtype: DType,
) -> tuple[Body, Scratch]:
    """Solve T X = B for a tridiagonal T.

    Args:
        n: The number of rows.
        columns: The number of columns of B.
        diagonal: The numbers of T.
        rhs: The numbers of B.
        put: Stores a number of X.
        pivots: True if rows may be exchanged.
        local: True if one thread does all of it.
        dtype: That of the numbers.

    Returns:
        The statements, and their scratch memory: the eliminated band, and a strip of X for each thread. If T
        is singular, then X has numbers that are not finite.
    """
    made = _Band(n, pivots, dtype)
    line = ALIGNMENT // dtype.size
    strips = columns // line
    rest = columns - strips * line
    strip = made.fresh.index("strip", strips)
    solved: Body = ()
    if not same(strips, 0):
        solved = (Loop(strip, made.solved(line, strip * line, rhs, put), LoopKind.PARALLEL),)
    if not same(rest, 0):
        solved += made.solved(rest, whole(strips * line), rhs, put)
    place = {"written": True, "local": local, "shared": True}
    scratch = {
        "band": Buffer(dtype, (n, 4), **place),
        "exchanged": Buffer(int64, (n,), **place),
        "x": Buffer(dtype, (n, rest if same(strips, 0) else line), written=True, local=True),
    }
    return (*made.eliminated(diagonal), *solved), scratch


class _Band:
    """Factors of a band: of each row 1 / pivot, the two numbers behind it, and the factor of the next row."""

    def __init__(self, n: AnySize, pivots: bool, dtype: DType) -> None:
        self.n, self.pivots, self.dtype, self.fresh = n, pivots, dtype, Fresh()
        self.zero, self.one = Const(0.0, dtype), Const(1.0, dtype)

    def _at(self, row: Expr, part: int) -> Load:
        return Load("band", (row, Const(part, int64)), self.dtype)

    def _put(self, row: Expr, *parts: Expr) -> Body:
        return tuple(Store("band", (row, Const(at, int64)), part) for at, part in enumerate(parts))

    def eliminated(self, diagonal: Diagonal) -> Body:
        """Eliminate the diagonal below."""
        fresh, n = self.fresh, self.n
        here = [fresh.local(name, self.dtype) for name in ("here", "beside")]
        first, once = first_of(n)
        inner = (fresh.each(n - 1, lambda i: self._row(diagonal, here, i), "row"),) if several(n) else ()
        body = (
            Let(here[0], diagonal(1, first)),
            Let(here[1], scalar.select(whole(n) > 1, diagonal(0, first), self.zero)),
            *inner,
            *self._put(whole(n - 1), self.one / here[0], self.zero, self.zero, self.zero),
        )
        return nested(once, body)

    def _row(self, diagonal: Diagonal, here: list[Local], i: Index) -> Body:
        """Take row `i`, or the next one, off the other."""
        fresh, following = self.fresh, i + 1
        beyond = scalar.select(following < self.n - 1, diagonal(0, following), self.zero)
        values = diagonal(2, following), diagonal(1, following), beyond
        there = [fresh.local("there", self.dtype) for _ in values]
        lets: Body = tuple(Let(local, value) for local, value in zip(there, values, strict=True))
        upper, lower = [*here, self.zero], there
        if self.pivots:
            swap = fresh.local("swap", int64)
            larger = size_of_pivot(there[0]) > size_of_pivot(here[0])
            lets += (
                Let(swap, scalar.select(larger, Const(1, int64), Const(0, int64))),
                Store("exchanged", (i,), swap),
            )
            pairs = [*zip(upper, there, strict=True)]
            upper, lower = (
                [scalar.select(swap > 0, *each) for each in turned]
                for turned in ([(b, a) for a, b in pairs], pairs)
            )
        locals_ = [fresh.local("number", self.dtype) for _ in range(6)]
        named = tuple(Let(local, x) for local, x in zip(locals_, [*upper, *lower], strict=True))
        (pivot, second, third), (below, *others) = locals_[:3], locals_[3:]
        inverse, factor = (fresh.local(name, self.dtype) for name in ("inverse", "factor"))
        return (
            *lets,
            *named,
            Let(inverse, self.one / pivot),
            Let(factor, below * inverse),
            *self._put(i, inverse, second, third, factor),
            Update(here[0], others[0] - factor * second),
            Update(here[1], others[1] - factor * third),
        )

    def solved(self, width: AnySize, first: Expr, rhs: Element, put: Put) -> Body:
        """Solve for so many columns of B, from one on."""
        fresh, n = self.fresh, self.n
        top, once = first_of(n)

        def lanes(lane: Index) -> Body:
            carried, near, far = (fresh.local(name, self.dtype) for name in ("carried", "near", "far"))

            def down(i: Index) -> Body:
                upper, lower = (fresh.local(name, self.dtype) for name in ("upper", "lower"))
                following = rhs(i + 1, first + lane)
                pair = (carried, following)
                if self.pivots:
                    swap = Load("exchanged", (i,), int64) > 0
                    pair = tuple(scalar.select(swap, *each) for each in (pair[::-1], pair))
                return (
                    Let(upper, pair[0]),
                    Let(lower, pair[1]),
                    Store("x", (i, lane), upper),
                    Update(carried, lower - self._at(i, 3) * upper),
                )

            def up(number: Index) -> Body:
                i = n - 1 - number
                value = fresh.local("value", self.dtype)
                left = Load("x", (i, lane), self.dtype) - self._at(i, 1) * near - self._at(i, 2) * far
                return (
                    Let(value, left * self._at(i, 0)),
                    put(i, first + lane, value),
                    Update(far, near),
                    Update(near, value),
                )

            return (
                Let(carried, rhs(top, first + lane)),
                *((fresh.each(n - 1, down, "row"),) if several(n) else ()),
                Store("x", (whole(n - 1), lane), carried),
                Let(near, self.zero),
                Let(far, self.zero),
                fresh.each(n, up, "row"),
            )

        return nested(once, (fresh.lanes(width, lanes),))
