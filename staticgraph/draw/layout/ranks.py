"""Ranks: the rows in which boxes stand, so that arrows point down and are short.

They are numbers with least distances between them that lie as near to each other as possible, as coordinates
across a drawing are (`nearest`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import networkx as nx

from staticgraph.draw.layout.model import Arc, Plan
from staticgraph.draw.model import Path

Distance = tuple[int, int, int]  # x[second] - x[first] is at least the third
Pull = tuple[int, int, int]  # |x[second] - x[first]| counts so many times
_EXACT = 6_000  # distances and pulls of which the flow is found
_SWEEPS = 8


def nearest(count: int, distances: Iterable[Distance], pulls: Iterable[Pull]) -> list[int]:
    """Return `count` numbers from 0 on for which the sum of all pulls is least.

    >>> nearest(3, [(0, 1, 1), (1, 2, 1), (0, 2, 1)], [(0, 2, 1), (0, 1, 1), (1, 2, 1)])
    [0, 1, 2]
    """
    least: dict[tuple[int, int], int] = {}
    for first, second, distance in distances:
        least[first, second] = max(least.get((first, second), distance), distance)
    pulls = list(pulls)
    if len(least) + len(pulls) > _EXACT:
        return _near(count, least, pulls)
    demand = [0] * count
    for first, second, weight in pulls:
        if least.get((second, first), -1) >= 0:
            first, second = second, first
        if least.get((first, second), -1) >= 0:  # the sign of the difference is known
            demand[first] -= weight
            demand[second] += weight
        else:  # the smaller of the two is a number of its own, from which both are measured
            low = len(demand)
            demand.append(-2 * weight)
            for end in (first, second):
                least[low, end] = 0
                demand[end] += weight
    network = nx.DiGraph()
    network.add_nodes_from((node, {"demand": amount}) for node, amount in enumerate(demand))
    network.add_edges_from((a, b, {"weight": -distance}) for (a, b), distance in least.items())
    _, flow = nx.network_simplex(network)
    tight = [(b, a, {"weight": least[a, b]}) for a, b in least if flow[a][b] > 0]
    network.add_edges_from(tight)
    start = len(demand)
    network.add_edges_from((start, node, {"weight": 0}) for node in range(start))
    lengths = nx.single_source_bellman_ford_path_length(network, start)
    found = [-lengths[node] for node in range(count)]
    smallest = min(found, default=0)
    return [number - smallest for number in found]


def _near(count: int, least: Mapping[tuple[int, int], int], pulls: Iterable[Pull]) -> list[int]:
    """Return numbers with the least distances, of which each is near the mean of what pulls it."""
    network = nx.DiGraph()
    network.add_nodes_from(range(count))
    network.add_edges_from(least)
    joined = nx.condensation(network)  # numbers that are 0 apart in both directions are the same
    of: dict[int, int] = joined.graph["mapping"]
    before: dict[int, list[tuple[int, int]]] = {each: [] for each in joined}
    after: dict[int, list[tuple[int, int]]] = {each: [] for each in joined}
    near: dict[int, list[tuple[int, int]]] = {each: [] for each in joined}
    for (first, second), distance in least.items():
        a, b = of[first], of[second]
        if a != b:
            after[a].append((b, distance))
            before[b].append((a, distance))
    for first, second, weight in pulls:
        a, b = of[first], of[second]
        if a != b:
            near[a].append((b, weight))
            near[b].append((a, weight))
    order = list(nx.topological_sort(joined))
    x: dict[int, int] = {}
    for each in order:
        x[each] = max((x[other] + distance for other, distance in before[each]), default=0)
    for sweep in range(_SWEEPS):
        for each in order if sweep % 2 else reversed(order):
            if near[each]:
                total = sum(weight for _, weight in near[each])
                mean = sum(x[other] * weight for other, weight in near[each]) // total
                x[each] = min([mean, *(x[other] - distance for other, distance in after[each])])
                x[each] = max([x[each], *(x[other] + distance for other, distance in before[each])])
    smallest = min(x.values(), default=0)
    return [x[of[number]] - smallest for number in range(count)]


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
