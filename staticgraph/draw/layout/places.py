"""Coordinates: across, arrows are short and long ones straight; down, ranks lie as near as titles allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.layout.model import Place, Plan
from staticgraph.draw.layout.order import Chains
from staticgraph.draw.layout.ranks import Distance, nearest
from staticgraph.draw.model import Path

MARGIN = 10  # between the border of an area and what is in it
_SLOPING, _STEEP, _HIGHEST = 14, 0.09, 90  # a gap in which an arrow goes aside, and how it grows with its way


@dataclass(slots=True)
class Places:
    """The coordinates of nodes and points; of each rank the top and bottom; and the rectangles of areas."""

    x: list[int]
    tops: list[int]
    bottoms: list[int]
    areas: dict[Path, Place]

    def middle(self, rank: int) -> int:
        """The height at which the nodes of a rank stand."""
        return (self.tops[rank] + self.bottoms[rank]) // 2


def placed(plan: Plan, chains: Chains, order: Sequence[Sequence[int]]) -> Places:
    """Return the coordinates for an order of each rank."""
    across = _Across(plan, chains, order)
    x, sides = across.solved()
    tops, bottoms, heads = _down(plan, chains, x)
    areas = {}
    feet = _feet(chains)
    for path, (first, last) in chains.spans.items():
        left, right = sides[path]
        top, bottom = tops[first] - heads[path], bottoms[last] + feet[path]
        areas[path] = Place((left + right) // 2, (top + bottom) // 2, right - left, bottom - top)
    return Places(x, tops, bottoms, areas)


class _Across:
    def __init__(self, plan: Plan, chains: Chains, order: Sequence[Sequence[int]]) -> None:
        self.plan, self.chains, self.order = plan, chains, order
        count = len(chains.rank)
        self.low = {path: count + 2 * i for i, path in enumerate(chains.spans)}
        self.high = {path: number + 1 for path, number in self.low.items()}
        self.count = count + 2 * len(self.low)

    def solved(self) -> tuple[list[int], dict[Path, tuple[int, int]]]:
        distances = list(self._distances())
        pulls = [*self.chains.links, *((self.low[p], self.high[p], 1) for p in self.low)]
        x = nearest(self.count, distances, pulls)
        self._balance(x, distances)
        smallest = min(x)
        x = [each - smallest for each in x]
        return x, {path: (x[low], x[self.high[path]]) for path, low in self.low.items()}

    def _distances(self) -> Iterator[Distance]:
        chains, gap = self.chains, self.plan.node_gap
        for rank in self.order:
            for a, b in pairwise(rank):
                common = _common(chains.path[a], chains.path[b])
                first, to_border = self._right(a, common)
                second, from_border = self._left(b, common)
                both = max(chains.height[a], 1) > 1 or max(chains.height[b], 1) > 1
                yield first, second, to_border + from_border + (gap if both else gap // 3)
            for node in (rank[0], rank[-1]) if len(rank) < 3 else rank:
                if path := chains.path[node]:
                    yield self.low[path], node, MARGIN + chains.left[node]
                    yield node, self.high[path], MARGIN + chains.right[node]
        for path in self.low:
            yield self.low[path], self.high[path], self.plan.titles.get(path, (0, 0))[0] + 2 * MARGIN
            if len(path) > 1:
                yield self.low[path[:-1]], self.low[path], MARGIN
                yield self.high[path], self.high[path[:-1]], MARGIN

    def _right(self, node: int, common: int) -> tuple[int, int]:
        """The right border of what holds a node beside its neighbour, and how far it is from its number."""
        path = self.chains.path[node]
        if len(path) > common:
            return self.high[path[: common + 1]], 0
        return node, self.chains.right[node]

    def _left(self, node: int, common: int) -> tuple[int, int]:
        path = self.chains.path[node]
        if len(path) > common:
            return self.low[path[: common + 1]], 0
        return node, self.chains.left[node]

    def _balance(self, x: list[int], distances: Sequence[Distance]) -> None:
        """Put each node amid its best places: many are equally good for the sum, and the least was taken."""
        before: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        after: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        for first, second, distance in distances:
            after[first].append((second, distance))
            before[second].append((first, distance))
        near: list[list[tuple[int, int]]] = [[] for _ in range(self.count)]
        for a, b, weight in self.chains.links:
            near[a].append((b, weight))
            near[b].append((a, weight))
        for _ in range(4):
            for node in range(len(self.chains.rank)):
                if near[node]:
                    low, high = _best(sorted((x[other], weight) for other, weight in near[node]))
                    low = max(low, max((x[o] + d for o, d in before[node]), default=low))
                    high = min(high, min((x[o] - d for o, d in after[node]), default=high))
                    if low <= high:
                        x[node] = (low + high) // 2


def _best(ends: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the least and the greatest weighted median of places with weights, in order."""
    total, passed = sum(weight for _, weight in ends), 0
    for number, (at, weight) in enumerate(ends):
        passed += weight
        if 2 * passed == total:
            return at, ends[number + 1][0]
        if 2 * passed > total:
            return at, at
    raise AssertionError(ends)


def _common(a: Path, b: Path) -> int:
    count = 0
    while count < min(len(a), len(b)) and a[count] == b[count]:
        count += 1
    return count


def _down(plan: Plan, chains: Chains, x: Sequence[int]) -> tuple[list[int], list[int], dict[Path, int]]:
    """Return the top and bottom of each rank, and how far the top of each area is above its first rank."""
    heads: dict[Path, int] = {}
    within: dict[Path, list[Path]] = {}
    for path in chains.spans:
        within.setdefault(path[:-1], []).append(path)
    for path in sorted(chains.spans, key=len, reverse=True):
        first = chains.spans[path][0]
        inner = [heads[p] for p in within.get(path, ()) if chains.spans[p][0] == first]
        title = plan.titles.get(path, (0, 0))[1]
        heads[path] = max(inner, default=0) + title + (MARGIN if not title else MARGIN // 2 + 2)
    count = len(chains.ranks)
    above, below = [0] * count, [0] * count
    feet = _feet(chains)
    for path, (first, last) in chains.spans.items():
        above[first] = max(above[first], heads[path])
        below[last] = max(below[last], feet[path])
    gaps = _gaps(plan, chains, x)
    tops, bottoms, y = [], [], 0
    for rank, nodes in enumerate(chains.ranks):
        y += above[rank]
        tops.append(y)
        y += max((chains.height[node] for node in nodes), default=0)
        bottoms.append(y)
        y += below[rank] + gaps[rank]
    return tops, bottoms, heads


def _gaps(plan: Plan, chains: Chains, x: Sequence[int]) -> list[int]:
    """Return the height of the gap below each rank: half beside texts, more where arrows go far aside."""
    boxes = [any(node < len(plan.nodes) for node in nodes) for nodes in chains.ranks]
    gaps = [plan.rank_gap if both else plan.rank_gap // 2 for both in map(all, pairwise(boxes))]
    for a, b, _ in chains.links:
        if aside := abs(x[a] - x[b]):
            rank = chains.rank[a]
            gaps[rank] = max(gaps[rank], min(round(_SLOPING + _STEEP * aside), _HIGHEST))
    return [*gaps, 0]


def _feet(chains: Chains) -> dict[Path, int]:
    """Return how far the bottom of each area is below its last rank: the areas inside end before it."""
    feet = dict.fromkeys(chains.spans, MARGIN)
    for path in sorted(chains.spans, key=len, reverse=True):
        around = path[:-1]
        if around in feet and chains.spans[around][1] == chains.spans[path][1]:
            feet[around] = max(feet[around], feet[path] + MARGIN)
    return feet
