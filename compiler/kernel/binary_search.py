"""Binary search, as statements."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Local
from staticgraph.compiler.kernel.stmt import Let, Stmt


def how_many(n: int, passes: Callable[[Expr], Expr]) -> tuple[list[Stmt], Expr]:
    """Return definitions, and the expression after them, of how many of the positions 0..n-1 pass.

    No position passes after one that does not. There are no branches: the search tries steps of falling
    powers of two, and takes a step if all positions before its end pass.
    """
    place: Expr = Const(0, int64)
    lets: list[Stmt] = []
    for k in reversed(range(int(n).bit_length())):
        step = place + (1 << k)
        further = (step <= n) & passes(scalar.minimum(step, n) - 1)
        lets.append(Let(Local(f"p{k}", int64), scalar.select(further, step, place)))
        place = Local(f"p{k}", int64)
    return lets, place
