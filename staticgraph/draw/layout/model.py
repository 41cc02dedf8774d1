"""Things to lay out, and the result: boxes of known sizes in nested areas, and arrows between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Path

Size = tuple[int, int]  # width and height, in points


@dataclass(frozen=True, slots=True)
class Node:
    """A box. `side` is -1 for the first rank, which holds nothing else then, 1 for the last, 0 for any."""

    width: int
    height: int
    path: Path = ()  # of areas, from the outermost inwards
    side: int = 0


@dataclass(frozen=True, slots=True)
class Arc:
    """An arrow between the nodes of two numbers.

    `weight` says how much it wants to be short and straight. `label` is the size of its text. An arrow that
    is not `ranking` has no influence on the ranks of its ends.
    """

    source: int
    target: int
    weight: int = 1
    label: Size = (0, 0)
    ranking: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """Boxes in order of construction, arrows, and the sizes of the titles of areas."""

    nodes: tuple[Node, ...]
    arcs: tuple[Arc, ...]
    titles: Mapping[Path, Size] = field(default_factory=dict)
    rank_gap: int = 26  # the least distance of two ranks
    node_gap: int = 20  # and of two boxes of one rank


@dataclass(frozen=True, slots=True)
class Place:
    """The centre of a box from the top left corner of its sheet, and its size, in points."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Route:
    """The points of a spline of Bézier curves: x, y, x, y, ..."""

    points: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """The size of the whole, and where boxes, arrows, the left ends of their labels, and areas are."""

    width: int
    height: int
    places: tuple[Place, ...]
    routes: tuple[Route, ...]
    labels: tuple[tuple[int, int] | None, ...]
    areas: Mapping[Path, Place]


def turned_plan(plan: Plan) -> Plan:
    """Return a plan whose boxes are as wide as they were high."""
    nodes = tuple(replace(node, width=node.height, height=node.width) for node in plan.nodes)
    return replace(plan, nodes=nodes, arcs=tuple(replace(arc, label=(0, 0)) for arc in plan.arcs), titles={})


def turned(layout: Layout) -> Layout:
    """Return a layout with its axes exchanged."""
    return Layout(
        layout.height,
        layout.width,
        tuple(map(_turned, layout.places)),
        tuple(Route(_pairs_turned(route.points)) for route in layout.routes),
        layout.labels,
        {path: _turned(place) for path, place in layout.areas.items()},
    )


def _turned(place: Place) -> Place:
    return Place(place.y, place.x, place.height, place.width)


def _pairs_turned(points: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(points[i ^ 1] for i in range(len(points)))
