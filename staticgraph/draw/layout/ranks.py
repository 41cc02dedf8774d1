"""Ranks: the rows in which boxes stand, so that arrows point down and are short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import networkx as nx

from staticgraph.draw.layout.distances import Distance, nearest
from staticgraph.draw.layout.model import Arc, Plan
from staticgraph.draw.model import Path

ROW = 6  # boxes beside each other that have nothing, or only one thing, to do with others


def ranked(plan: Plan) -> list[int]:
    """Return the rank of each node, from 0 on."""
    arcs = [arc for arc in _acyclic(plan) if arc.source != arc.target]
    distances = [(arc.source, arc.target, 1) for arc in arcs]
    distances += _rows(plan, arcs)
    distances += _sides(plan)
    pulls = [(arc.source, arc.target, arc.weight) for arc in arcs]
    found = nearest(len(plan.nodes), distances, pulls)
    used = {rank: number for number, rank in enumerate(sorted(set(found)))}
    return [used[rank] for rank in found]


def _acyclic(plan: Plan) -> Iterator[Arc]:
    """Yield the arcs that rank nodes. In a circle, those that point back to older nodes are turned."""
    arcs = [_turned(arc) if _is_against(plan, arc) else arc for arc in plan.arcs if arc.ranking]
    arcs = [arc for arc in arcs if not _is_beside(plan, arc)]
    graph = nx.DiGraph((arc.source, arc.target) for arc in arcs)
    circle = {node: n for n, nodes in enumerate(nx.strongly_connected_components(graph)) for node in nodes}
    for arc in arcs:
        backwards = arc.source > arc.target and circle[arc.source] == circle[arc.target]
        yield _turned(arc) if backwards else arc


def _turned(arc: Arc) -> Arc:
    return Arc(arc.target, arc.source, arc.weight)


def _is_against(plan: Plan, arc: Arc) -> bool:
    """Return True if an arc leads out of the last rank or into the first one."""
    return plan.nodes[arc.source].side > plan.nodes[arc.target].side


def _is_beside(plan: Plan, arc: Arc) -> bool:
    """Return True if both ends of an arc are in the first rank, or both in the last."""
    return plan.nodes[arc.source].side == plan.nodes[arc.target].side != 0


def _rows(plan: Plan, arcs: Sequence[Arc]) -> Iterator[Distance]:
    """Break long rows: of nodes without arcs in one area, and of nodes that hang on one node by an arc."""
    ends: dict[int, list[tuple[int, int]]] = {}
    for arc in arcs:
        ends.setdefault(arc.source, []).append((arc.target, 1))
        ends.setdefault(arc.target, []).append((arc.source, -1))
    alone: dict[Path, list[int]] = {}
    seen: Counter[tuple[int, int]] = Counter()
    for number, node in enumerate(plan.nodes):
        others = ends.get(number, [])
        if not others and not node.side:
            row = alone.setdefault(node.path, [])
            if len(row) >= ROW:
                yield row[-ROW], number, 1
            row.append(number)
        elif len(others) == 1 and len(ends[others[0][0]]) > ROW:
            (other, way) = others[0]
            far = 1 + seen[others[0]] // ROW
            seen[others[0]] += 1
            yield (number, other, far) if way > 0 else (other, number, far)


def _sides(plan: Plan) -> Iterator[Distance]:
    """Nodes of the first and the last rank have it for themselves."""
    for side in (-1, 1):
        there = [number for number, node in enumerate(plan.nodes) if node.side == side]
        if not there:
            continue
        for number, node in enumerate(plan.nodes):
            if node.side == side:
                yield there[0], number, 0
                yield number, there[0], 0
            else:
                yield (there[0], number, 1) if side < 0 else (number, there[0], 1)
