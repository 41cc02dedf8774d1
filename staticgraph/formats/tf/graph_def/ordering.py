"""The order in which the nodes of a GraphDef are read: that of the file, but each after what it needs."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.graph_def.nodes import GraphDefError
from staticgraph.formats.tf.messages.graph import NodeDef

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Edge:
    """An input as a node names it: the `index`th output of another node, -1 for a control dependency."""

    node: str
    index: int

    @property
    def is_control(self) -> bool:
        return self.index < 0

    def __str__(self) -> str:
        return f"^{self.node}" if self.is_control else f"{self.node}:{self.index}"


def edge(text: str) -> Edge:
    """Parse an input: `node`, `node:1` or `^node`. Raises ValueError for anything else."""
    if text.startswith("^"):
        return Edge(text[1:], -1)
    name, colon, index = text.rpartition(":")
    if not colon:
        return Edge(text, 0)
    if not (index.isascii() and index.isdigit() and len(index) < 6):
        raise GraphDefError(f"{text!r} is not the name of an input")
    return Edge(name, int(index))


def origin(by_name: Mapping[str, NodeDef], each: Edge, through: Collection[str]) -> Edge:
    """Return the edge that a value comes from, past nodes of the types `through`, which only pass it on."""
    while (node := by_name.get(each.node)) is not None and node.op in through and node.input:
        each = edge(node.input[0])
    return each


def nodes_by_name(nodes: Sequence[NodeDef]) -> dict[str, NodeDef]:
    """The nodes by name, each of which must be another one."""
    found: dict[str, NodeDef] = {}
    for node in nodes:
        if node.name in found:
            raise GraphDefError(f"two nodes of the GraphDef are called {node.name!r}")
        found[node.name] = node
    return found


MERGES = frozenset({"Merge", "RefMerge"})
NEXT = frozenset({"NextIteration", "RefNextIteration"})  # from here an edge goes back, to a Merge


def in_order(
    by_name: Mapping[str, NodeDef], mapped: Mapping[Edge, object], more: Mapping[str, Sequence[str]]
) -> list[NodeDef]:
    """All nodes, each after its inputs and after `more`, else in the order of the file. What is `mapped`
    comes from elsewhere. Edges that go back, from one round of a loop to the next, do not count.
    """
    needs: dict[str, list[str]] = {}
    for name, node in by_name.items():
        needed = [each.node for each in map(edge, node.input) if each not in mapped]
        needed += more.get(name, ())
        for each in needed:
            if each not in by_name:
                text = f"node {name!r} has the input {each!r}, and the GraphDef has no such node"
                raise GraphDefError(text)
        back = node.op in MERGES
        needs[name] = [each for each in needed if not (back and by_name[each].op in NEXT)]
    return [by_name[name] for name in sorted_by_needs(needs)]


def sorted_by_needs(needs: Mapping[Key, Collection[Key]]) -> list[Key]:
    """Return all keys, each after those that it needs.

    Of two keys the one that is given first comes first, unless it needs the other: nodes with effects keep
    their order.

    Raises:
        GraphDefError: Some keys need each other.

    >>> sorted_by_needs({"a": ["c"], "b": [], "c": []})
    ['c', 'a', 'b']
    """
    found: dict[Key, None] = {}
    for first in needs:
        way = {} if first in found else {first: iter(needs[first])}  # each key needs the next one
        while way:
            key, left = next(reversed(way.items()))
            needed = next((each for each in left if each not in found), None)
            if needed is None:
                found[key] = None
                del way[key]
            elif needed in way:
                raise GraphDefError(f"node {needed!r} of the GraphDef needs itself, by way of its inputs")
            else:
                way[needed] = iter(needs[needed])
    return list(found)


def dependents(by_name: Mapping[str, NodeDef], roots: set[str]) -> set[str]:
    """`roots`, and all nodes that need one of them."""
    users: dict[str, list[str]] = {}
    for name, node in by_name.items():
        for text in node.input:
            users.setdefault(edge(text).node, []).append(name)
    found, stack = set(roots), list(roots)
    while stack:
        for user in users.get(stack.pop(), ()):
            if user not in found:
                found.add(user)
                stack.append(user)
    return found
