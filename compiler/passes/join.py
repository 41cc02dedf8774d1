"""Groups over the same elements become one kernel that stores several results.

    m' = b1 * m + (1 - b1) * g        one kernel each, since m' and v'
    v' = b2 * v + (1 - b2) * g * g    are results of the step and are
    w' = w - rate * m' / sqrt(v')     read by w'

become one kernel that reads g, m, v and w once. A group joins the one that reads its result where that reads
each element only at the element's own position, and where no third group must run between the two.
"""

from __future__ import annotations

import heapq

from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.passes.group import MEMBER_LIMIT, Demand, Demands, Group
from staticgraph.compiler.passes.pull import template

STORED_LIMIT = 8  # results of one kernel: each is a stream of its own to memory
SEARCH_LIMIT = 256  # groups looked at to prove that none must run in between


def join(groups: list[Group], demands: Demands) -> list[Group]:
    """The groups, fewer of them, in an order in which they can run."""
    return _Joining(groups, demands).run()


class _Joining:
    def __init__(self, groups: list[Group], demands: Demands) -> None:
        self.groups = groups
        self.demands = demands
        self.home = {v: g for g in groups for v in g.outputs}
        self.reads: dict[Group, dict[Value, None]] = {g: {} for g in groups}
        self.wants: dict[Group, list[Value]] = {g: [] for g in groups}
        for value, wanted in demands.items():
            for group in wanted:
                self.wants[group].append(value)
                if value in self.home and self.home[value] is not group:
                    self.reads[group][value] = None
        self.gone: set[Group] = set()

    def run(self) -> list[Group]:
        for group in self.groups:
            while producer := self._producer(group):
                self._absorb(group, producer)
        return self._ordered([g for g in self.groups if g not in self.gone])

    def _producer(self, group: Group) -> Group | None:
        """A group that may join `group`."""
        if not group.is_loops:
            return None
        for value in self.reads[group]:
            producer = self.home[value]
            if self._fits(producer, group, value) and not self._must_run_between(producer, group):
                return producer
        return None

    def _fits(self, producer: Group, group: Group, value: Value) -> bool:
        own = list(self.demands[value][group]) == [Demand(group.position)]
        small = (
            len(producer.outputs) + len(group.outputs) <= STORED_LIMIT
            and len(producer.members) + len(group.members) < MEMBER_LIMIT
        )
        return (
            own
            and small
            and producer.is_loops
            and producer.domain == group.domain
            and _kinds_fit(producer, group)
        )

    def _must_run_between(self, producer: Group, group: Group) -> bool:
        """Whether `group` depends on `producer` also through a third group."""
        seen = {producer, group}
        stack = [self.home[v] for v in self.reads[group]]
        while stack:
            other = stack.pop()
            if other not in seen:
                seen.add(other)
                through = [self.home[v] for v in self.reads[other]]
                if producer in through or len(seen) > SEARCH_LIMIT:
                    return True
                stack.extend(through)
        return False

    def _absorb(self, group: Group, producer: Group) -> None:
        group.members |= {producer.root, *producer.members}
        group.stored = [*producer.stored, producer.root, *group.stored]
        group.contraction = group.contraction or producer.contraction
        group.reduces = group.reduces or producer.reduces
        for value in producer.outputs:
            self.home[value] = group
            self.reads[group].pop(value, None)
        for value in self.reads[producer]:
            self.reads[group][value] = None
        for value in self.wants.pop(producer):
            wanted = self.demands[value]
            if group not in wanted:
                self.wants[group].append(value)
            wanted.setdefault(group, {}).update(wanted.pop(producer))
        self.gone.add(producer)

    def _ordered(self, groups: list[Group]) -> list[Group]:
        """A topological order, as near to the old one as can be."""
        position = {g: i for i, g in enumerate(groups)}
        needs = {g: {self.home[v] for v in self.reads[g]} - {g} for g in groups}
        users: dict[Group, list[Group]] = {g: [] for g in groups}
        for group, needed in needs.items():
            for producer in needed:
                users[producer].append(group)
        waiting = {g: len(needed) for g, needed in needs.items()}
        ready = [position[g] for g in groups if not waiting[g]]
        heapq.heapify(ready)
        out = []
        while ready:
            group = groups[heapq.heappop(ready)]
            out.append(group)
            for user in users[group]:
                waiting[user] -= 1
                if not waiting[user]:
                    heapq.heappush(ready, position[user])
        return out


def _kinds_fit(producer: Group, group: Group) -> bool:
    """Around a product of matrices there may be arithmetic on whole tiles only."""
    if producer.contraction is None and group.contraction is None:
        return True
    if producer.contraction is not None and group.contraction is not None:
        return False
    other = group if group.contraction is None else producer
    return not other.reduces and all(
        node.op.kind is Kind.ELEMENTWISE or template(node).is_copy for node in other.nodes
    )
