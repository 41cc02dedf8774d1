"""Groups over the same elements, or over the same rows, become one kernel that stores several results.

    m' = b1 * m + (1 - b1) * g        one kernel each, since m' and v'
    v' = b2 * v + (1 - b2) * g * g    are results of the step and are
    w' = w - rate * m' / sqrt(v')     read by w'

become one kernel that reads g, m, v and w once: a group joins the one that reads its result where that reads
each element only at the element's own position. Then

    e = exp(x - reduce_max(x, axis=1))      one kernel each, since e is needed
    y = e / reduce_sum(e, axis=1)           all along its row, and twice

become one kernel that does for each row what both do: a group joins the one that reads its result where that
reads, in every row, of the same row only. What nothing else needs is kept in a buffer of one row. Last, sums
over all rows, as the gradients of scales and biases are, join a kernel that goes through the same rows.

The groups stay in an order in which they can run, and a group moves in it to where the other one is: down
where nothing in between reads it, or up where nothing in between is read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterable

from staticgraph.compiler.fusion.group import (
    FEW_ROWS,
    LEAST_ROW,
    LONG_ENOUGH,
    LONG_ROW,
    MEMBER_LIMIT,
    WIDE,
    Demand,
    Demands,
    Group,
    amount,
    goes_down,
    reduces,
    shared_rows,
)
from staticgraph.compiler.fusion.inline_element import Position, template
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.sizes import Size, estimate, is_open, same, same_shape, several
from staticgraph.compiler.kernel.expr import Index, Reduce, free_indices
from staticgraph.compiler.machine import CPU
from staticgraph.compiler.support.dataclass import replace

READERS = 64  # of a value: more are not looked at
STORED_LIMIT = 8  # results of one kernel: each is a stream of its own to memory


def join(groups: list[Group], demands: Demands, results: Container[Value]) -> list[Group]:
    """The groups, fewer of them, in an order in which they can run. `results` are needed by the outside."""
    joining = _Joining(groups, demands, results)
    joining.all(joining.same_elements)
    joining.all(joining.same_rows)
    joining.each(joining.sums_over_rows)
    return joining.groups


class _Joining:
    def __init__(self, groups: list[Group], demands: Demands, results: Container[Value]) -> None:
        self.groups = groups
        self.demands = demands
        self.results = results
        self.place = {g: i for i, g in enumerate(groups)}
        self.loops = {g for g in groups if g.is_loops}
        self.home = {v: g for g in groups for v in g.outputs}
        self.wants: dict[Group, dict[Value, None]] = {g: {} for g in groups}
        for value, wanted in demands.items():
            for group in wanted:
                self.wants[group][value] = None

    def all(self, unite: Callable[[Group, Group], bool]) -> None:
        """Unite groups with those that they read from, as long as `unite` does so."""
        for group in self.groups:
            if group in self.place and group in self.loops:
                while any(map(unite, self._producers(group), itertools.repeat(group))):
                    pass
        self.groups = sorted(self.place, key=self.place.__getitem__)

    def each(self, change: Callable[[Group], None]) -> None:
        """Apply `change` to every group that is loops, producers first."""
        for group in self.groups:
            if group in self.place and group in self.loops:
                change(group)
        self.groups = sorted(self.place, key=self.place.__getitem__)

    def same_elements(self, producer: Group, group: Group) -> bool:
        """Make one loop nest of two, if they run over the same elements."""
        fits = (
            producer.domain == group.domain  # first, as it holds of few
            and _small(producer, group)
            and len(producer.outputs) + len(group.outputs) <= STORED_LIMIT
            and not (producer.summed and _sums_over(group, producer.outputs))  # one would wait for the other
            and self._wants_own(group, self._between(producer, group))
            and _kinds_fit(producer, group)
        )
        if not fits or (place := self._meeting(producer, group)) is None:
            return False
        group.members |= {producer.root, *producer.members}
        stored = [*producer.stored, producer.root, *group.stored]
        within = {n for n in stored if all(self._is_local(v, producer, group) for v in n.outputs)}
        group.stored = [n for n in stored if n not in within]
        for value in (v for node in within for v in node.outputs):
            del self.home[value]
        group.contraction = group.contraction or producer.contraction
        group.summed += producer.summed
        group.depths += producer.depths
        self._absorb(producer, group, place)
        return True

    def _wants_own(self, group: Group, values: Iterable[Value]) -> bool:
        """Return True if of each of these values, a group wants the element that it is at itself."""
        own = [Demand(group.position)]
        return all(list(self.demands[v][group]) == own for v in values)

    def same_rows(self, producer: Group, group: Group) -> bool:
        """Make one kernel of two that does for each row what both do, if they run over the same rows."""
        if producer.contraction or group.contraction or not _small(producer, group):
            return False
        if not (rows := self._rows(producer, group)):
            return False
        if (place := self._meeting(producer, group)) is None:
            return False
        values = [v for part in (producer, group) for v in (*part.outputs, *part.local)]
        local = {v for v in values if self._is_local(v, producer, group) and not is_open(v.shape[rows:])}
        if _kept(local, rows) > CPU.row_bytes or len(values) - len(local) > STORED_LIMIT:
            return False
        group.nests = [*producer.nests, producer, *group.nests]
        group.rows, group.local = rows, local
        producer.nests, producer.local = [], set()
        self._absorb(producer, group, place)
        return True

    def sums_over_rows(self, group: Group) -> None:
        """Take the sums of `group` row by row: in a kernel that goes through these rows anyway, or alone."""
        if group.contraction or group.nests or group.sums or not group.summed or _sums_in_turn(group):
            return
        if group.root.outputs[0].dtype.is_bool:  # what a run is tested by should not wait for anything else
            return
        shared = dict.fromkeys((*self._producers(group), *self._readers(group)))
        if any(self._sum_in(other, group) for other in shared):
            return
        rows = group.summed[0][: min(map(len, group.summed))]
        wide = _inner(group, 0) >= WIDE and _kept(group.outputs, 0) <= CPU.row_bytes
        if wide and self._sums_columns(group) and _same_rows(group, rows) and not self._sums_again(group):
            group.rows, group.sums = len(rows), [replace(group)]

    def _sum_in(self, kernel: Group, group: Group) -> bool:
        """Let the sums of `group` be taken by `kernel`, if that goes through the same rows."""
        reads = any(kernel in self.demands.get(v, {}) for v in group.outputs)
        reads |= any(group in self.demands.get(v, {}) for other in kernel.sums for v in other.outputs)
        if reads or kernel.only_sums or kernel.contraction or not _small(kernel, group):
            return False
        shortest = min(map(len, group.summed))
        long = (n for n in range(min(shortest, kernel.most_rows), 0, -1) if _inner(kernel, n) >= LONG_ENOUGH)
        rows = kernel.rows or next(long, 0)
        if not 0 < rows <= shortest or not _same_rows(group, kernel.domain[:rows]):
            return False
        between = [d for v in kernel.outputs for d in self.demands.get(v, {}).get(group, ())]
        ends = [axes[:rows] for axes in group.summed]
        if any(d.at is None or not any(_runs_along(d.at, axes) for axes in ends) for d in between):
            return False
        values = (*kernel.outputs, *kernel.local)
        local = {v for v in values if self._is_local(v, kernel, group) and not is_open(v.shape[rows:])}
        if _kept(local, rows) + _kept(group.outputs, 0) > CPU.row_bytes:
            return False
        if (place := self._meeting(kernel, group)) is None:
            return False
        kernel.sums.append(group)
        kernel.rows, kernel.local = rows, local
        self._absorb(group, kernel, place)
        return True

    def _readers(self, group: Group) -> list[Group]:
        """The groups that read, along rows, large values over which `group` sums."""
        found: dict[Group, None] = {}
        firsts = {axes[0] for axes in group.summed}
        for value in self.wants[group]:
            for demand in self.demands[value][group]:
                if demand.at and demand.at[0] in firsts:
                    readers = self.demands[value]
                    if len(readers) <= READERS:
                        found |= {r: None for r, at in readers.items() if r in self.loops and _in_rows(r, at)}
        found.pop(group, None)
        return list(found)

    def _rows(self, producer: Group, group: Group) -> int:
        """Return the number of leading axes that are rows, which both groups can do one by one; 0 if none."""
        positions = [producer.position]
        for value in self._between(producer, group):
            for demand in self.demands[value][group]:
                if demand.at is None:
                    return 0
                positions.append(demand.at)
        rows = shared_rows(group.domain, group.position, positions)
        rows = min([rows, *(part.rows or part.most_rows for part in (producer, group))])
        number = estimate(math.prod(i.extent for i in group.domain[:rows]))
        if number <= 1 or self._sums_columns(producer, group):  # the second takes longer than all above
            return 0
        length = max(_length(producer, rows), _length(group, rows))
        enough = number >= FEW_ROWS or length <= LONG_ROW
        return rows if enough and length >= LEAST_ROW else 0

    def _sums_columns(self, *groups: Group) -> bool:
        """Return True if one of `groups` sums down columns. Then little of its work is in a row."""
        return any(
            demand.at and any(goes_down(demand.at, axes) for axes in group.summed)
            for group in groups
            for value in self.wants[group]
            for demand in self.demands[value][group]
        )

    def _sums_again(self, group: Group) -> bool:
        """Return True if a column is read for several sums, as in products: these stay in registers then."""
        domain = {i for i in group.domain if not same(i.extent, 1)}
        return any(
            demand.at
            and goes_down(demand.at, axes)
            and not domain.issubset(itertools.chain(*map(free_indices, demand.at)))
            for axes in group.summed
            for value in self.wants[group]
            for demand in self.demands[value][group]
        )

    def _is_local(self, value: Value, producer: Group, group: Group) -> bool:
        readers = self.demands.get(value, {})
        return value not in self.results and all(reader in (producer, group) for reader in readers)

    def _producers(self, group: Group) -> list[Group]:
        """The groups that `group` reads from and that are loops."""
        found = dict.fromkeys([self.home[v] for v in self.wants[group] if v in self.home])
        return [g for g in found if g is not group and g in self.loops]

    def _between(self, producer: Group, group: Group) -> list[Value]:
        """Return the values that `group` reads from `producer`."""
        return [v for v in producer.outputs if group in self.demands.get(v, {})]

    def _meeting(self, one: Group, other: Group) -> int | None:
        """The place in the order where the two can be one kernel."""
        early, late = sorted((one, other), key=self.place.__getitem__)
        first, last = self.place[early], self.place[late]
        readers = (r for v in early.outputs for r in self.demands.get(v, {}))
        if all(self.place[r] >= last for r in readers if r is not early):
            return last
        needed = (self.home[v] for v in self.wants[late] if v in self.home)
        return first if all(self.place[n] <= first for n in needed if n is not late) else None

    def _absorb(self, producer: Group, group: Group, place: int) -> None:
        """`group` is at `place`, and has become the home of what `producer` stored."""
        for value in self.wants.pop(producer):
            self.wants[group][value] = None
            wanted = self.demands[value]
            wanted.setdefault(group, {}).update(wanted.pop(producer))
        for value in (*group.outputs, *group.local):
            self.home[value] = group
        del self.place[producer]
        self.place[group] = place


def _sums_over(group: Group, values: Iterable[Value]) -> bool:
    """Return True if a reduction in `group` needs one of `values`."""
    reached = set(values)
    for node in group.nodes:
        if not reached.isdisjoint(node.inputs):
            if reduces(template(node)):
                return True
            reached.update(node.outputs)
    return False


def _sums_in_turn(group: Group) -> bool:
    """Return True if a reduction in `group` needs another one in it, which is known only after all rows."""
    return _sums_over(group, (v for n in group.nodes if reduces(template(n)) for v in n.outputs))


def _same_rows(group: Group, rows: tuple[Index, ...]) -> bool:
    """Return True if all reductions of `group` begin with axes like `rows`, and these are several rows."""
    extents = [i.extent for i in rows]
    firsts = ([a.extent for a in axes[: len(rows)]] for axes in group.summed)
    return several(math.prod(extents)) and all(same_shape(first, extents) for first in firsts)


def _in_rows(group: Group, at: Iterable[Demand]) -> bool:
    """Return True if a group reads something in the order in which it goes through its own rows."""
    return bool(group.domain) and any(d.at and d.at[0] is group.domain[0] for d in at)


def _inner(group: Group, rows: int) -> int:
    """Return the number of elements in a row of the group's domain."""
    return estimate(math.prod(i.extent for i in group.domain[rows:]))


def _kept(values: Iterable[Value], rows: int) -> float:
    """The bytes of one row of all these values; infinity if a size is open, since any may come."""
    kept = sum(math.prod(v.shape[rows:]) * v.dtype.size for v in values)
    return math.inf if isinstance(kept, Size) else kept


def _runs_along(at: Position, axes: tuple[Index, ...]) -> bool:
    """Return True if a position begins with these axes, or with 0 for axes of size one."""
    return len(at) >= len(axes) and all(p is a or same(a.extent, 1) for p, a in zip(at, axes, strict=False))


def _small(producer: Group, group: Group) -> bool:
    parts = (*producer.nests, *producer.sums, producer, *group.nests, group)
    return amount([node for part in parts for node in (part.root, *part.members)]) <= MEMBER_LIMIT


def _length(group: Group, rows: int) -> int:
    """About how many elements a kernel of rows goes through in each of them."""
    found = 1
    for nest in (*group.nests, group):
        inner = _inner(nest, rows)
        summed = (
            estimate(math.prod(a.extent for a in e.axes))
            for node in (*nest.members, nest.root)
            for e in template(node).order
            if isinstance(e, Reduce)
        )
        found = max(found, inner * max(summed, default=1))
    return found


def _kinds_fit(producer: Group, group: Group) -> bool:
    """Around a product of matrices there may be arithmetic on whole tiles only."""
    if producer.contraction is None and group.contraction is None:
        return True
    if producer.contraction is not None and group.contraction is not None:
        return False
    other = group if group.contraction is None else producer
    return not other.reduces and all(
        node.op.kind is Kind.ELEMENTWISE or template(node).on_tiles for node in other.nodes
    )
