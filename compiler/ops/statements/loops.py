"""Loops over all positions of a shape, for ops whose kernels are written as statements."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import AnySize, at_most, proven
from staticgraph.compiler.kernel.expr import Const, Expr, Index
from staticgraph.compiler.kernel.stmt import Loop, LoopKind, Stmt, Store
from staticgraph.compiler.ops.kinds import Out


def counters(shape: Sequence[int], prefix: str = "i") -> tuple[Index, ...]:
    """A loop variable for each axis of `shape`."""
    return tuple(Index(f"{prefix}{d}", n) for d, n in enumerate(shape))


def nested(
    loops: Sequence[Index], body: tuple[Stmt, ...], kind: LoopKind = LoopKind.SERIAL
) -> tuple[Stmt, ...]:
    """`body` for all values of `loops`, the last of which runs fastest."""
    for index in reversed(loops):
        body = (Loop(index, body, kind),)
    return body


def first_of(n: AnySize) -> tuple[Expr, tuple[Index, ...]]:
    """The first position of an axis, and a loop around it that does not run if an open axis is empty."""
    if proven(operator.ge, n, 1):
        return Const(0, int64), ()
    once = Index("once", at_most(n, 1))
    return once, (once,)


def each(out: Out, element: Callable[[tuple[Expr, ...]], Expr], prefix: str = "i") -> tuple[Stmt, ...]:
    """Statements that store `element(at)` at every position."""
    at = counters(out.shape, prefix)
    return nested(at, (Store(out.buffer, at, element(at)),))
