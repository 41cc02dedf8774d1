"""Products, what is done to their rows, and products of these rows, as one group: attention.

Fusion keeps a product apart from all that is more than arithmetic on its tiles. A GPU whose blocks of threads
have rows of a product where all of them can read can go on with these rows, and with what they are multiplied
by. Here such groups become one kernel of rows; whoever generates its code says whether that pays, and whether
each row needs nothing of the others.

    scores = matmul(q, k)      a group each         nests of one group, whose rows are those of q
    p = softmax(scores)
    y = matmul(p, v)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from staticgraph.compiler.fusion.group import Fusion, Group, is_whole
from staticgraph.compiler.graph.function import Value

Chain = tuple[Group, ...]  # a product, what is done to its rows, and perhaps a second product


def attention(fusion: Fusion, pays: Callable[[Group], bool]) -> Fusion:
    """Fuse each attention, whose groups follow each other, into one group where that `pays`."""
    groups = _Groups(fusion)
    for product in fusion.groups:
        if _is_product(product) and product in groups.reads:
            for chain in groups.chains(product):
                if (order := groups.without(chain)) is not None and pays(one := groups.one(chain)):
                    groups.replace(chain, one, order)
                    break
    return replace(fusion, groups=tuple(groups.order))


class _Groups:
    """The groups of a Function, in an order in which they can run, and what they read from memory."""

    def __init__(self, fusion: Fusion) -> None:
        self.order = list(fusion.groups)
        self.results = frozenset(fusion.function.results)
        self.reads = {group: _read(group) for group in self.order}
        self.readers: dict[Value, dict[Group, None]] = {}
        for group, values in self.reads.items():
            for value in values:
                self.readers.setdefault(value, {})[group] = None

    def chains(self, product: Group) -> Iterator[Chain]:
        """Yield the chains that may become one group and begin with `product`, the longest first."""
        for rows in self._after(product):
            if not _is_rows(rows, product):
                continue
            for last in self._after(rows):
                if _is_product(last) and last.domain[:-1] == product.domain[:-1]:
                    yield product, rows, last
            yield product, rows

    def _after(self, group: Group) -> list[Group]:
        return list({reader: None for value in group.outputs for reader in self.readers.get(value, ())})

    def without(self, chain: Chain) -> tuple[list[Group], list[Group]] | None:
        """The other groups, before and after what the chain becomes; None if that is not possible.

        It comes where the last of them was. What reads of the others before comes after it.
        """
        last = self.order.index(chain[-1])
        made = {v for group in chain[:-1] for v in group.outputs}
        before: list[Group] = []
        after: list[Group] = []
        for group in self.order[:last]:
            if group in chain:
                continue
            if made.isdisjoint(self.reads[group]):
                before.append(group)
            elif is_whole(group.root):
                return None  # such groups stay in their order
            else:
                made.update(group.outputs)
                after.append(group)
        late = {v for group in after for v in group.outputs}
        if not late.isdisjoint(v for group in chain for v in self.reads[group]):
            return None
        return before, [*after, *self.order[last + 1 :]]

    def one(self, chain: Chain) -> Group:
        """A chain as one group. What only the chain reads is kept in its rows, whichever of them it reads."""
        product, rows, *more = chain
        nests = [product, *rows.nests]
        if more:
            nests.append(replace(rows, nests=[], local=set(), rows=0))
        made = [v for group in chain[:-1] for v in group.outputs]
        local = {v for v in made if v not in self.results and set(chain).issuperset(self.readers.get(v, ()))}
        return replace(
            chain[-1],
            nests=nests,
            rows=len(product.domain) - 1,
            local=rows.local | local,
            contraction=product.contraction,
        )

    def replace(self, chain: Chain, one: Group, others: tuple[list[Group], list[Group]]) -> None:
        """Put a group in place of a chain, with the others before and after it."""
        before, after = others
        self.order = [*before, one, *after]
        for group in chain:
            for value in self.reads.pop(group):
                del self.readers[value][group]
        self.reads[one] = _read(one)
        for value in self.reads[one]:
            self.readers[value][one] = None


def _read(group: Group) -> dict[Value, None]:
    nodes = group.nodes
    inside = {v for node in nodes for v in node.outputs}
    return {v: None for node in nodes for v in node.inputs if v not in inside}


def _is_product(group: Group) -> bool:
    """Return True if a group is a product and arithmetic on its elements, and nothing else."""
    return group.contraction is not None and group.is_loops and not (group.rows or group.nests or group.sums)


def _is_rows(group: Group, product: Group) -> bool:
    """Return True if a group works on each row of a product separately: all axes but the last count rows."""
    plain = group.is_loops and group.contraction is None and not group.sums
    count = len(product.domain) - 1
    return plain and count > 0 and group.domain == product.domain and group.rows in (0, count)
