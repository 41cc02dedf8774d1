"""Numbers with least distances between them that lie as near to each other as possible.

This is a linear program whose dual is a flow of least cost (Gansner, Koutsofios, North and Vo 1993, who use
it for ranks and for coordinates). networkx finds the flow. The numbers follow from it: a distance over which
something flows is as small as it may be.

The flow of a large network takes minutes. Its numbers are drawn to each other in a few sweeps instead, which
gives arrows that are somewhat longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import networkx as nx

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
