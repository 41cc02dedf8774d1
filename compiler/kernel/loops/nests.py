"""Nests of loops over flat buffers: which loop of a nest is the innermost, and which two are one.

    flatten      a position becomes one offset: buffers have at most one axis
    interchange  of loops with nothing between them, the one that runs along memory goes innermost
    merge        two loops with nothing between them become one where one variable can write all offsets

The schedules of a CPU and of a GPU begin with these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container
from functools import partial

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import AnySize, Size, same
from staticgraph.compiler.kernel.expr import (
    Expr,
    Index,
    Load,
    free_indices,
    number,
    rebuild,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.indices.affine import Affine, linear
from staticgraph.compiler.kernel.indices.index import offset, simplify_index
from staticgraph.compiler.kernel.loops.dependence import accesses, lane_locals, obstacle
from staticgraph.compiler.kernel.stmt import (
    Buffer,
    If,
    Kernel,
    Loop,
    Stmt,
    Store,
    While,
    expressions,
    rewrite,
    statements,
)
from staticgraph.compiler.support.dataclass import replace

# Relative costs, in units of one arithmetic vector instruction.
GATHER = 1.25  # to load one lane from a place of its own
SCATTER = 2.5  # to store one
PAIRS = 2.0  # to load or store one element of the pair in each lane, or to load elements backwards


def flatten(kernel: Kernel) -> Kernel:
    """`kernel` over buffers of at most one axis."""
    done: dict[Expr, Expr] = {}
    places: dict[tuple[object, ...], tuple[Expr, ...]] = {}  # both parts of complex numbers have the same

    def place(name: str, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
        buffer = kernel.buffers[name]
        key = *buffer.shape[1:], *at
        if key not in places:
            places[key] = (offset(buffer, at).expr,) if at else ()
        return places[key]

    def flat(expr: Expr) -> Expr:
        for node in () if expr in done else walk(expr):
            if node in done:
                continue
            children = tuple(map(done.__getitem__, node.children))
            if isinstance(node, Load):
                children = place(node.buffer, children)
            done[node] = node if children == node.children else rebuild(node, children)
        return simplify_index(done[expr])

    buffers = {n: replace(b, shape=(b.size,) if b.shape else ()) for n, b in kernel.buffers.items()}
    return Kernel(kernel.name, buffers, _flat_stores(rewrite(kernel.body, flat), place))


def interchange(body: tuple[Stmt, ...], buffers: dict[str, Buffer]) -> tuple[Stmt, ...]:
    """`body` with its nests of loops turned so that the innermost one runs along memory."""

    def turned(stmt: Stmt) -> Stmt:
        match stmt:
            case While() | If():
                return replace(stmt, body=interchange(stmt.body, buffers))
            case Loop():
                nest, inside = _nest(stmt)
                inside = interchange(inside, buffers)
                if len(nest) == 1 or (Loop in map(type, inside) and _runs_along(inside)):
                    return _nested(nest, inside)
                inner = min(reversed(nest), key=lambda loop: _jumps(loop.index, inside))
                if inner is not nest[-1] and all(obstacle(loop, buffers) is None for loop in nest):
                    nest = [loop for loop in nest if loop is not inner] + [inner]
                return _nested(nest, inside)
        return stmt

    return tuple(map(turned, body))


def _runs_along(body: tuple[Stmt, ...]) -> bool:
    """Return True if loops in `body` store all that is stored, and run along memory: they are innermost."""
    stores = [stmt for stmt in statements(body) if isinstance(stmt, Store)]
    along = [
        stmt
        for loop in statements(body)
        if isinstance(loop, Loop)
        for stmt in loop.body
        if isinstance(stmt, Store) and is_one_of(step_of(stmt, loop.index, ()), 1)
    ]
    return bool(stores) and len(along) == len(stores)


def merge(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """`body` with every two loops made one that have nothing between them and walk through memory as one."""

    def merged(stmt: Stmt) -> Stmt:
        match stmt:
            case While() | If():
                return replace(stmt, body=merge(stmt.body))
            case Loop():
                stmt = replace(stmt, body=merge(stmt.body))
                match stmt.body:
                    case (Loop() as inner,) if inner.kind is stmt.kind:
                        return _as_one(stmt, inner) or stmt
        return stmt

    return tuple(map(merged, body))


def _flat_stores(
    body: tuple[Stmt, ...], place: Callable[[str, tuple[Expr, ...]], tuple[Expr, ...]]
) -> tuple[Stmt, ...]:
    def flat(stmt: Stmt) -> Stmt:
        match stmt:
            case Store(buffer, at, value):
                return Store(buffer, place(buffer, at), value)
            case Loop() | While() | If():
                return replace(stmt, body=_flat_stores(stmt.body, place))
        return stmt

    return tuple(map(flat, body))


def _nest(loop: Loop) -> tuple[list[Loop], tuple[Stmt, ...]]:
    """Loops with nothing between them, outermost first, and what is inside the last."""
    nest = [loop]
    while len(nest[-1].body) == 1:
        (inside,) = nest[-1].body
        if not isinstance(inside, Loop) or inside.share is not None:
            break
        nest.append(inside)
    return nest, nest[-1].body


def _nested(nest: list[Loop], inside: tuple[Stmt, ...]) -> Loop:
    for loop in reversed(nest):
        inside = (replace(loop, body=inside),)
    (outermost,) = inside
    assert isinstance(outermost, Loop)
    return outermost


def _jumps(index: Index, body: tuple[Stmt, ...]) -> float:
    """Return the cost of the accesses of `body` that jump when `index` grows by one, zero if none does.

    A load does not jump if it stays or moves to a neighbour. A store does not jump if it moves to the
    neighbour.
    """
    locals_ = lane_locals(index, body)
    total = 0.0
    for access, times in Counter(accesses(body)).items():
        step = step_of(access, index, locals_)
        if isinstance(access, Store):
            total += 0 if is_one_of(step, 1) else SCATTER
        else:  # 2: the parts of complex numbers
            total += 0 if is_one_of(step, -2, -1, 0, 1, 2) else times * GATHER
    return total


def step_of(access: Load | Store, index: Index, varying: Container[Expr]) -> AnySize | None:
    """Elements from one access to the next one as `index` grows by one, None if they differ.

    Args:
        access: An access of a buffer of at most one axis.
        index: The variable of a loop around it.
        varying: The locals that change with `index`.
    """
    return linear(access.at[0]).stride(index, varying) if access.at else 0


def is_one_of(step: AnySize | None, *numbers: int) -> bool:
    """Return True if a step is one of some numbers for all sizes."""
    return isinstance(step, int) and step in numbers


def _along(position: Expr, old: tuple[Index, Index], index: Index, step: AnySize) -> Expr:
    """A position with one loop variable, by which it moves so far, in place of two."""
    form = linear(position)
    terms: dict[Expr, AnySize] = {term: f for term, f in form.terms.items() if term not in old}
    return Affine(terms | ({index: step} if isinstance(step, Size) or step else {}), form.constant).expr


def _reads(stmt: Stmt, indices: set[Index]) -> bool:
    """Return True if a statement itself reads some of the variables."""
    return any(not indices.isdisjoint(free_indices(expr)) for expr in expressions(stmt))


def _as_one(outer: Loop, inner: Loop) -> Loop | None:
    """The two loops as one, or None if some expression still needs the two variables."""
    if outer.share is not None or inner.share is not None:
        return None
    index = Index(outer.index.name, outer.index.extent * inner.index.extent)
    straight: dict[Expr, Expr] | None = {}
    for access in accesses(inner.body):
        far, near = step_of(access, outer.index, ()), step_of(access, inner.index, ())
        # Where only the outer index is divided, the inner loop loads one element; one loop would gather it.
        if near is not None and (far is None or not same(far, near * inner.index.extent)):
            return None
        if near is None:
            straight = None
        elif straight is not None and access.at:
            straight[access.at[0]] = _along(access.at[0], (outer.index, inner.index), index, near)
    if straight is not None and not same(index.extent, 0):
        body = rewrite(inner.body, partial(substitute, table=straight))
        if not any(_reads(stmt, {outer.index, inner.index}) for stmt in statements(body)):
            return replace(outer, index=index, body=body)
    extent = number(inner.index.extent, int64)
    quotient, remainder = index // extent, index % extent
    table: dict[Expr, Expr] = {outer.index: quotient, inner.index: remainder}
    body = rewrite(inner.body, lambda e: simplify_index(substitute(e, table)))
    left = {e for stmt in statements(body) for e in walk(*expressions(stmt))}
    # An empty loop leaves no way to tell one variable from the other.
    if same(index.extent, 0) or quotient in left or remainder in left:
        return None
    return replace(outer, index=index, body=body)
