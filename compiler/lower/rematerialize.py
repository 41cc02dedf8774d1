"""Less memory for more work: values that wait long for their next use are thrown away and computed again.

At the fullest moment of a step, most values in the arena were computed long before and are read long after.
Any set of values that cuts all paths from work that is done once to the uses after that moment is enough to
keep: the others are computed again from it, just before they are used. The smallest such set, in bytes, is a
minimum cut.

    h = relu(a)          a is read later for the gradient, and so is h:
    ...                  only a is kept, and relu(a) computed again
    g = f(h, a)

The kernels that run again are the very same ones, so results do not change by a bit.

Where little is to be gained in time by keeping them, and much memory is lost, values are computed again
without anyone asking for it: those that take one kernel, made of what waits for other reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from staticgraph.compiler.fusion.group import Group, cost, reduces
from staticgraph.compiler.fusion.inline_element import template
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.lower.buffer_assignment import Candidate, Stored, fullest, lifetimes

if TYPE_CHECKING:
    import networkx as nx

ROUNDS = 64  # moments that are relieved one after the other
_FEW, _LITTLE = 256, 16  # as many times a value is smaller than all, or than another one
_LIGHT = (
    16  # additions of vectors: a function and four additions take as long as to read and write an element
)
_BEFORE, _AFTER = "before", "after"  # work done once, and uses after the fullest moment


def recompute(items: Sequence[Candidate], sizes: Mapping[Stored, int], limit: int) -> Sequence[Candidate]:
    """`items` in an order that needs at most `limit` bytes at a time, or as few as can be reached.

    `sizes`: the bytes of the values that live in the arena. Items appear again where they are computed again.
    """
    best, fewest = items, None
    for _ in range(ROUNDS):
        at, most = fullest(lifetimes(items, sizes))
        if fewest is None or most < fewest:
            best, fewest = items, most
        relieved = _relieved(items, at, sizes) if most > limit else None
        if relieved is None:
            break
        items = relieved
    return best


def spared(items: Sequence[Candidate], sizes: Mapping[Stored, int], traffic: float) -> Sequence[Candidate]:
    """`items` in an order in which values that wait at the fullest moment, beside all that they are made of,
    are computed again, as far as that reads and writes at most `traffic` bytes.
    """
    at, most = fullest(lifetimes(items, sizes))
    written = {value: i for i, item in enumerate(items[:at]) for value in item.writes if value in sizes}
    waiting = _waiting(items, at, written)
    again: set[Stored] = set()
    needed: set[Stored] = set()
    for value in waiting:
        item = items[written[value]]
        sources = {v for v in item.reads if v in written}
        if value in needed or not again.isdisjoint(sources):
            continue
        if sizes[value] * _FEW < most or not item.again or not _is_light(item.group):
            continue
        longer = sum(sizes[v] for v in sources if v not in waiting)  # would have to be kept
        moved = sum(sizes[v] for v in (*sources, *item.writes))
        if longer * _LITTLE <= sizes[value] and moved <= traffic:
            again.add(value)
            needed |= sources
            traffic -= moved
    return _with_repeats(items, at, written, again) if again else items


def _is_light(group: Group) -> bool:
    """Return True if a kernel takes about as long as its reads and writes."""
    formulas = [template(node) for node in group.nodes if node.op.element is not None]
    return sum(map(cost, formulas)) <= _LIGHT and not any(map(reduces, formulas))


def _relieved(items: Sequence[Candidate], at: int, sizes: Mapping[Stored, int]) -> list[Candidate] | None:
    """The order in which fewer bytes wait while the item `at` runs; None if there is none."""
    import networkx as nx  # takes longer to import than the whole compiler, and few steps need it

    written = {value: i for i, item in enumerate(items[:at]) for value in item.writes if value in sizes}
    waiting = _waiting(items, at, written)
    flow = nx.DiGraph()
    _connect(flow, items, waiting, written, sizes)
    kept, (early, _) = nx.minimum_cut(flow, _BEFORE, _AFTER)
    if kept >= sum(sizes[value] for value in waiting):
        return None
    again = {value for value in written if (value, False) in flow and (value, False) not in early}
    return _with_repeats(items, at, written, again)


def _waiting(items: Sequence[Candidate], at: int, written: Mapping[Stored, int]) -> dict[Value, None]:
    """Return the values that were written before the item `at` and are read after it."""
    found: dict[Value, None] = {}
    gone = set(items[at].writes)
    for item in items[at + 1 :]:
        found.update((value, None) for value in item.reads if value in written and value not in gone)
        gone.update(item.writes)
    return found


def _connect(
    flow: nx.DiGraph,
    items: Sequence[Candidate],
    waiting: Mapping[Value, None],
    written: Mapping[Stored, int],
    sizes: Mapping[Stored, int],
) -> None:
    """Make `flow` the network whose cuts are the sets of values that it is enough to keep.

    A value is an edge from (value, False), having it at some time, to (value, True), having it later; to have
    it later costs its size, or all that it is computed from.
    """
    stack = list(waiting)
    flow.add_nodes_from((_BEFORE, _AFTER))
    flow.add_edges_from(((value, True), _AFTER) for value in waiting)
    while stack:
        value = stack.pop()
        if (value, False) in flow:
            continue
        flow.add_edge((value, False), (value, True), capacity=sizes[value])
        item = items[written[value]]
        if not item.again:
            flow.add_edge(_BEFORE, (value, False))
            continue
        for source in item.reads:
            if source in written:  # all else, such as feeds and variables, is there anyway
                flow.add_edge((source, True), (value, False))
                stack.append(source)


def _with_repeats(
    items: Sequence[Candidate], at: int, written: Mapping[Stored, int], again: set[Stored]
) -> list[Candidate]:
    """`items`, and after `at` once more those that write values of `again`, each before its first use."""
    order = list(items[: at + 1])
    missing = set(again)
    for item in items[at + 1 :]:
        stack = [item]
        while stack:
            needed = [items[written[v]] for v in stack[-1].reads if v in missing]
            if needed:
                stack += needed
                continue
            ready = stack.pop()
            if ready is item or not missing.isdisjoint(ready.writes):
                order.append(ready)
                missing.difference_update(ready.writes)
    return order
