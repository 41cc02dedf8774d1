"""Loops whose positions wrap around, as those of `roll`: the middle of such a loop does without remainders.

    for i in 0..100:
      y[i] = x[(i + 99) % 100] + x[(i + 1) % 100]

becomes

    for i in 0..1:
      y[i] = x[(i + 99) % 100] + x[(i + 1) % 100]
    for i in 0..98:
      y[i + 1] = x[i] + x[i + 2]
    for i in 0..1:
      y[i + 99] = x[(i + 198) % 100] + x[(i + 100) % 100]

so that the loop in the middle loads neighbours with neighbours: one instruction for all vector lanes.
Stencils with periodic boundaries are such loops.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.open_sizes import lesser
from staticgraph.compiler.graph.sizes import AnySize, Size, at_least, positive, same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Extent,
    Index,
    Scalar,
    number,
    substitute,
    transform,
    walk,
)
from staticgraph.compiler.kernel.indices.index import simplify_index
from staticgraph.compiler.kernel.stmt import Let, Loop, LoopKind, Stmt, Store, expressions, rewrite
from staticgraph.compiler.support.dataclass import replace

_MOST_OPEN = 16  # iterations at both ends of a loop of open extent; it may be shorter
_PART = 4  # otherwise a part of the loop: longer ends are not worth more code


def in_lanes(loop: Loop) -> tuple[Loop, ...]:
    """`loop`, flat, in vector lanes, cut into an end, a middle without remainders, and an end.

    Its iterations are independent, or steps of reductions. Ends stay serial.
    """
    extent = loop.index.extent
    places = _wrapped_places(loop) if all(isinstance(s, (Let, Store)) for s in loop.body) else {}
    first, last = max(0, -min(places.values(), default=0)), max(0, *places.values(), 0)
    if not places or first + last > (_MOST_OPEN if isinstance(extent, Size) else extent // _PART):
        return (replace(loop, kind=LoopKind.SIMD),)
    front = lesser(extent, first)
    middle = at_least(extent - (first + last), 0)
    start = front + middle
    plain: dict[Expr, Expr] = {place: loop.index + shift for place, shift in places.items()}
    return (
        *((_part(loop, front, 0, {}),) if first else ()),
        replace(_part(loop, middle, first, plain), kind=LoopKind.SIMD),
        *((_part(loop, extent - start, start, {}),) if last else ()),
    )


def without_divisions(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` with comparisons in place of remainders by open sizes, of positions that wrap around once."""
    return rewrite(body, lambda expr: transform(expr, _compared) if _divides(expr) else expr)


def _divides(expr: Expr) -> bool:
    return any(node.__class__ is Scalar and node.op == "floormod" for node in walk(expr))


def _compared(expr: Expr) -> Expr:
    match expr:
        case Scalar("floormod", (Scalar("add", (a, b)) as position, Extent(size) as extent)):
            if (_is_below(a, size) and _is_step(b, size)) or (_is_below(b, size) and _is_step(a, size)):
                return scalar.select(scalar.lt(position, extent), position, position - extent)
    return expr


def _is_below(expr: Expr, size: Size) -> bool:
    """Return True if a position is known to be in 0..size."""
    match expr:
        case Index(_, extent):
            return same(extent, size)
        case Scalar("select", (Scalar("lt", (a, Extent(most))), b, _)):
            return same(most, size) and a is b
    return False


def _is_step(expr: Expr, size: Size) -> bool:
    match expr:
        case Scalar("floormod", (_, Extent(divisor))):
            return same(divisor, positive(size))
    return False


def _part(loop: Loop, count: AnySize, start: AnySize, plain: dict[Expr, Expr]) -> Loop:
    """The iterations from `start` on, with `plain` positions in place of some."""
    index = Index(loop.index.name, count)
    moved: dict[Expr, Expr] = {loop.index: index if same(start, 0) else index + number(start, int64)}

    def at_place(expr: Expr) -> Expr:
        return simplify_index(substitute(substitute(expr, plain), moved))

    return replace(loop, index=index, body=rewrite(loop.body, at_place))


def _wrapped_places(loop: Loop) -> dict[Expr, int]:
    """The remainders of positions by the extent of the loop, with how far they are from its index."""
    found: dict[Expr, int] = {}
    for stmt in loop.body:
        for root in filter(_divides, expressions(stmt)):
            for node in walk(root):
                if _is_wrapped(node, loop.index.extent):
                    shift = _shift(node, loop.index)
                    if shift is not None:
                        found[node] = shift
    return found


def _is_wrapped(node: Expr, extent: AnySize) -> bool:
    match node:
        case Scalar("floormod", (_, Const(int(size)) | Extent(size))) if node.dtype is int64:
            return same(size, extent)
    return False


def _shift(expr: Expr, index: Index) -> int | None:
    """The distance of a position from `index`, but for multiples of the extent: the least number."""
    match expr:
        case Index():
            return 0 if expr is index else None
        case Scalar("floormod", (a, _)) if _is_wrapped(expr, index.extent):
            return _shift(a, index)
        case Scalar("add", (a, b)):
            for one, other in ((a, b), (b, a)):
                before, more = _shift(one, index), _steps(other, index.extent)
                if before is not None and more is not None:
                    return _least(before + more, index.extent)
    return None


def _steps(expr: Expr, extent: AnySize) -> int | None:
    """A number of steps, but for multiples of the extent, or None."""
    match expr:
        case Const(int(n)):
            return _least(n, extent)
        case Scalar("floormod", (Const(int(n)), Extent(size))) if same(size, positive(extent)):
            return n
    return None


def _least(steps: int, extent: AnySize) -> int:
    return steps if isinstance(extent, Size) else (steps + extent // 2) % extent - extent // 2
