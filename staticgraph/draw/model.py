"""Model of a drawing, independent of its layout: boxes in nested scopes, links, and how much links weigh.

The longest way through a drawing is straight, and what belongs together is near.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from typing import Any

from staticgraph.compiler.support.dataclass import dataclass

Path = tuple[str, ...]  # a scope, from the outermost inwards


class Role(Enum):
    """Kind of thing that a box stands for. The value is its entry in the legend."""

    INPUT = "placeholder (rounded)"
    VARIABLE = "variable (cylinder)"
    CONSTANT = "constant"
    OP = "operation"
    RANDOM = "random (hexagon)"
    ASSIGN = "assignment (double line)"
    GRADIENTS = "gradients (octagon)"
    CONTROL = "group, no output"
    CARRIED = "carried by a loop"
    HIDDEN = "folded operations"
    REPEATS = "folded repetition"
    OPTIMIZER = "optimizer (double line)"
    STUB = "of what many read"


class Flow(Enum):
    """Kind of relation that a link stands for. The value is its entry in the legend."""

    DATA = "tensor"
    CONTROL = "runs after"
    REFERENCE = "changes"
    NEXT = "in the next round"


class Work(Enum):
    """Kind of computation in a region. The value is its entry in the legend."""

    SCOPE = "name scope"
    LOOPS = "kernel: elementwise"
    REDUCTION = "kernel: reduction"
    PRODUCT = "kernel: product"
    HOST = "call of NumPy"
    EXCHANGE = "exchange with other processes"
    ROUNDS = "rounds of a loop"
    BRANCH = "branch"


@dataclass(frozen=True, slots=True)
class Box:
    """One box. `order` is the order of construction; `ops` how many operations the box stands for."""

    key: str
    path: Path
    title: str
    role: Role
    order: int
    lines: tuple[str, ...] = ()
    tooltip: str = ""
    place: str = ""  # the user's line, `file.py:12`
    source: str = ""  # its text
    kind: str = ""  # boxes of one kind look alike: what repetitions are recognised by
    fetched: bool = False
    in_place: bool = False
    work: Work = Work.SCOPE  # of a folded region
    weights: tuple[str, ...] = ()  # variables that it alone reads, `kernel 64×10`
    parameters: int = 0  # elements of the trainable variables in it
    of: Any = field(default=None, compare=False, repr=False)  # the operation or node that it stands for


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow. Links of the same `tensor` from one box to another are one arrow."""

    source: str
    target: str
    tensor: str
    text: str = ""
    tooltip: str = ""
    flow: Flow = Flow.DATA
    count: int = 1


@dataclass(frozen=True, slots=True)
class Region:
    """Appearance of a scope."""

    title: str
    work: Work = Work.SCOPE
    tooltip: str = ""
    of: Any = field(default=None, compare=False, repr=False)  # the group that a kernel computes


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes in order of construction, links between their keys, and what is known of their scopes."""

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    title: str = ""
    regions: dict[Path, Region] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def with_parts(self, boxes: Iterable[Box], links: Iterable[Link]) -> Drawing:
        return replace(self, boxes=tuple(sorted(boxes, key=lambda b: b.order)), links=tuple(links))

    @property
    def leaving(self) -> dict[str, list[Link]]:
        """The links from each box, by its key."""
        found: dict[str, list[Link]] = {}
        for link in self.links:
            found.setdefault(link.source, []).append(link)
        return found

    def quotient(self, home: Mapping[str, str], changed: Mapping[str, Box]) -> Drawing:
        """Return the drawing without the boxes in `home`, whose links go to the box that each is put into.

        `changed`: boxes that look otherwise from then on.
        """
        links = []
        ordered: set[tuple[str, str]] = set()
        for link in self.links:
            source, target = home.get(link.source, link.source), home.get(link.target, link.target)
            if link.flow is Flow.CONTROL:
                if (source, target) in ordered:
                    continue
                ordered.add((source, target))
            if (source, target) == (link.source, link.target):
                links.append(link)
            elif source != target:
                links.append(replace(link, source=source, target=target))
        boxes = [changed.get(box.key, box) for box in self.boxes if box.key not in home]
        return self.with_parts(boxes, links)

    def region(self, path: Path) -> Region:
        return self.regions.get(path) or Region(path[-1])


SPINE = 20  # times the weight, of arrows of the longest way: where it must bend, it does between scopes


def spine(keys: Iterable[str], links: Iterable[Link]) -> set[tuple[str, str]]:
    """Return the arrows of the longest way through a drawing, which is to be straight.

    Args:
        keys: The boxes in order of construction.
        links: The arrows between them.
    """
    import networkx as nx  # takes 0.1 s, and the parts of a drawing are read without it

    graph = nx.DiGraph()
    order = {key: n for n, key in enumerate(keys)}
    for link in links:
        if link.flow is Flow.DATA and order[link.source] < order[link.target]:
            graph.add_edge(link.source, link.target)
    way = nx.dag_longest_path(graph)
    return {*itertools.pairwise(way)}


def weight(link: Link, source: Box, target: Box) -> int:
    """Return how much an arrow wants to be short and straight.

    Links within a scope weigh most, then other data. Links between scopes that begin
    at a variable weigh least, as do links that are not data.
    """
    if link.flow is not Flow.DATA:
        return 1
    if source.path and source.path == target.path:
        return 8
    return 1 if source.role is Role.VARIABLE else 2
