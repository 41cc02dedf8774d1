"""The order in which the nodes of a GraphDef are read: that of the file, but each after what it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from staticgraph.graph_def.nodes import GraphDefError
from staticgraph.messages.graph import NodeDef

__all__ = ["Edge", "dependents", "edge", "in_order", "nodes_by_name"]


@dataclass(frozen=True, slots=True)
class Edge:
    """An input as a node names it: the `index`th output of another node, -1 for a control dependency."""

    node: str
    index: int

    @property
    def is_control(self) -> bool:
        return self.index < 0


def edge(text: str) -> Edge:
    """What `node`, `node:1` or `^node` says. ValueError for anything else."""
    if text.startswith("^"):
        return Edge(text[1:], -1)
    name, colon, index = text.rpartition(":")
    if not colon:
        return Edge(text, 0)
    if not (index.isascii() and index.isdigit() and len(index) < 6):
        raise GraphDefError(f"{text!r} is not the name of an input")
    return Edge(name, int(index))


def nodes_by_name(nodes: Sequence[NodeDef]) -> dict[str, NodeDef]:
    """The nodes by name, each of which must be another one."""
    found: dict[str, NodeDef] = {}
    for node in nodes:
        if node.name in found:
            raise GraphDefError(f"two nodes of the GraphDef are called {node.name!r}")
        found[node.name] = node
    return found


def in_order(
    by_name: Mapping[str, NodeDef], mapped: Mapping[Edge, object], more: Mapping[str, Sequence[str]]
) -> list[NodeDef]:
    """All nodes, each after its inputs and after `more`, else in the order of the file. What is `mapped`
    comes from elsewhere.
    """
    places = {name: place for place, name in enumerate(by_name)}
    waiting: dict[str, int] = {}
    users: dict[str, list[str]] = {}
    for name, node in by_name.items():
        needed = [each.node for each in map(edge, node.input) if each not in mapped]
        needed += more.get(name, ())
        for each in needed:
            if each not in by_name:
                text = f"node {name!r} has the input {each!r}, and the GraphDef has no such node"
                raise GraphDefError(text)
            users.setdefault(each, []).append(name)
        waiting[name] = len(needed)
    names = list(by_name)
    ready = [places[name] for name, count in waiting.items() if not count]
    heapify(ready)
    found = []
    while ready:
        name = names[heappop(ready)]
        found.append(by_name[name])
        for user in users.get(name, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, places[user])
    if len(found) < len(by_name):
        stuck = next(name for name, count in waiting.items() if count)
        raise GraphDefError(
            f"node {stuck!r} of the GraphDef needs itself, by way of its inputs: loops that TensorFlow "
            "made of Enter, Merge and Switch nodes cannot be imported"
        )
    return found


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
