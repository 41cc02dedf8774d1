"""Strides of accesses to flat buffers along a loop variable, and the vector accesses that they permit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import AnySize, Size, at_most, content, estimate
from staticgraph.compiler.kernel.expr import (
    Const,
    Expr,
    Index,
    Load,
    Scalar,
    free_indices,
    number,
    substitute,
    walk,
)
from staticgraph.compiler.kernel.indices.affine import linear
from staticgraph.compiler.kernel.indices.index import offset, simplify_index
from staticgraph.compiler.kernel.schedule_gpu.target import MOST_POSITIONS, VECTOR_BYTES
from staticgraph.compiler.kernel.stmt import Buffer, Stmt, Store, expressions, statements

Columns = tuple[Index, Index, tuple[Stmt, ...]]  # statements for column `q * width + v`, after q and v
_WIDEST = 8  # elements of a vector


def counting(name: str, count: AnySize, each: int = 1) -> Index:
    """Return an index that counts vectors of so many elements each. A function with open sizes runs only if
    there are so few elements that an `int` can count them.
    """
    return Index(name, at_most(count, MOST_POSITIONS // each) if isinstance(count, Size) else count)


def accessed(stmts: Iterable[Stmt]) -> Iterator[Load | Store]:
    """The elements that statements read, each once for an expression, and those that they store."""
    for stmt in statements(tuple(stmts)):
        yield from (e for e in walk(*expressions(stmt)) if isinstance(e, Load))
        if isinstance(stmt, Store):
            yield stmt


def step(access: Load | Store, index: Index) -> int | None:
    """Return how far an access usually moves if `index` grows by one; None if that is unknown.

    As in x[i // 20 * 600 + i % 20], the step may be another one now and then.
    """
    return _slope(access.at[0], index) if access.at else 0


def _slope(place: Expr, index: Index) -> int | None:
    total = 0
    for term, factor in linear(place).terms.items():
        match term:
            case Scalar("floordiv" | "floormod" as op, (x, Const(int(n)))) if index in free_indices(x):
                slope = _slope(x, index)
                if slope is None or abs(slope) >= n:
                    return None
                total += slope * factor if op == "floormod" else 0
            case Index():
                total += factor if term is index else 0
            case _ if index in free_indices(term):
                return None
    return total


def aligned(access: Load | Store, lane: Index) -> bool:
    """True if the elements at all values of `lane` are contiguous and start at a multiple of their number."""
    if lane.extent == 1 or not access.at:
        return False
    form = linear(access.at[0])
    if form.stride(lane) != 1:
        return False
    others = [factor for term, factor in form.terms.items() if term is not lane]
    return all(content(n) % lane.extent == 0 for n in (*others, form.constant))


def neighbours(body: tuple[Stmt, ...], index: Index, buffers: Mapping[str, Buffer]) -> int:
    """Return how many bytes of memory `body` accesses in order if `index` is the fastest index."""
    found: dict[tuple[str, Expr], int] = {}
    for access in accessed(body):
        if not buffers[access.buffer].local and access.at and step(access, index) == 1:
            count = estimate(math.prod(i.extent for i in free_indices(access.at[0])))
            found[access.buffer, access.at[0]] = count * buffers[access.buffer].dtype.size
    return sum(found.values())


def width(count: AnySize, columns: Callable[[int], Columns], buffers: Mapping[str, Buffer]) -> int:
    """Return how many neighbouring columns of `count` a thread processes at a time, by vector accesses.

    `columns` returns the statements for vectors of a given length.
    """
    q, _, body = columns(1)
    near = [a for a in accessed(body) if step(a, q) == 1 and not buffers[a.buffer].local]
    names = {a.buffer for a in near}
    widest = max((buffers[name].dtype.size for name in names), default=VECTOR_BYTES)
    wide = min(_WIDEST, VECTOR_BYTES // widest)
    while wide > 1:
        if content(count) % wide == 0:
            _, v, body = columns(wide)
            moving = [a for a in accessed(body) if a.buffer in names and step(a, v) != 0]
            if all(aligned(a, v) for a in moving):
                return wide
        wide //= 2
    return 1


def split(value: Expr, extents: Sequence[AnySize]) -> list[Expr]:
    """`value` as positions along axes of these extents, the last one fastest."""
    out: list[Expr] = []
    below: AnySize = 1
    for n, extent in reversed([*enumerate(extents)]):
        place = value // number(below, int64)
        if n or not isinstance(extent, Size):  # nothing is beyond the first axis
            place %= number(extent, int64)
        out.append(simplify_index(place))
        below *= extent
    return out[::-1]


def reached(body: tuple[Stmt, ...], known: Set[Expr] = frozenset()) -> list[Expr]:
    """Return the expressions that the statements of `body` consist of, without those inside of its loops.

    The operands of `known` expressions are left out.
    """
    found: dict[Expr, None] = {}
    stack = [e for s in body for e in expressions(s)]
    while stack:
        node = stack.pop()
        if node not in found:
            found[node] = None
            stack += () if node in known else node.children
    return list(found)


def replaced(store: Store, table: dict[Expr, Expr]) -> Store:
    """A store with other expressions for some, such as indices."""
    at = tuple(simplify_index(substitute(a, table)) for a in store.at)
    return Store(store.buffer, at, simplify_index(substitute(store.value, table)))


def lane_loads(stores: Iterable[Store], tables: Sequence[dict[Expr, Expr]]) -> dict[Load, list[Load]]:
    """Return the loads of some stores, each with what it is for every table of indices."""
    found: dict[Load, list[Load]] = {}
    for load in walk(*(s.value for s in stores)):
        if isinstance(load, Load):
            lanes = [simplify_index(substitute(load, table)) for table in tables]
            found[load] = [e for e in lanes if isinstance(e, Load)]
    return found


def in_line(buffer: Buffer, places: Sequence[tuple[Expr, ...]]) -> bool:
    """True if elements form a vector of memory: contiguous, and starting at a multiple of its length."""
    forms = [offset(buffer, at) for at in places]
    first = forms[0]
    together = all(
        form.terms == first.terms and form.constant == first.constant + lane
        for lane, form in enumerate(forms)
    )
    return together and all(content(f) % len(places) == 0 for f in (*first.terms.values(), first.constant))
