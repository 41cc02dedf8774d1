"""Binary search, as statements."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Extent, Local
from staticgraph.compiler.kernel.stmt import If, Let, Stmt, Update, While


def how_many(n: AnySize, passes: Callable[[Expr], Expr]) -> tuple[list[Stmt], Expr]:
    """Return definitions, and the expression after them, of how many of the positions 0..n-1 pass.

    No position passes after one that does not. There are no branches: the search tries steps of falling
    powers of two, and takes a step if all positions before its end pass. For an open `n` there are loops.
    """
    if isinstance(n, Size):
        return _of_open_length(n, passes)
    place: Expr = Const(0, int64)
    lets: list[Stmt] = []
    for k in reversed(range(int(n).bit_length())):
        step = place + (1 << k)
        further = (step <= n) & passes(scalar.minimum(step, n) - 1)
        lets.append(Let(Local(f"p{k}", int64), scalar.select(further, step, place)))
        place = Local(f"p{k}", int64)
    return lets, place


def _of_open_length(n: Size, passes: Callable[[Expr], Expr]) -> tuple[list[Stmt], Expr]:
    """The same search: the first step is the greatest power of two that is at most `n`."""
    place, width = Local("place", int64), Local("width", int64)
    step = place + width
    take = Update(place, scalar.select(passes(step - 1), step, place))
    search: list[Stmt] = [
        Let(width, Const(1, int64)),
        While(width <= Extent(n), (Update(width, width * 2),)),
        Let(place, Const(0, int64)),
        While(width > 1, (Update(width, width // 2), If(step <= Extent(n), (take,)))),
    ]
    return search, place
