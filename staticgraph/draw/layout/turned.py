"""A layout from left to right is one from top to bottom with its axes exchanged."""

from __future__ import annotations

from dataclasses import replace

from staticgraph.draw.layout.model import Layout, Place, Plan, Route


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
