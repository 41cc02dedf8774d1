"""Orders of ranks in which few arrows cross: each node goes where its neighbours are, in sweeps down and up.

An area is one thing among others in every rank that it has, and the areas around a rank stand in the same
order in all ranks: so each of them is a rectangle (Forster 2002). A long arrow is a chain: every link joins
two neighbouring ranks, by way of points that stand for the arrow.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.layout.model import Arc, Plan
from staticgraph.draw.model import Path

_LINE = 6  # room of a line among others
LABEL_GAP = 4  # between an arrow and its text, which stands to the right


@dataclass(slots=True)
class Chains:
    """Nodes first, then points; of each its rank, its room to both sides, its height and its area.

    `links` lead down: for each pair of neighbours the weight. `ways` holds for each arc its nodes and points
    from top to bottom, empty for arcs within one rank, and `labels` the point that has its text.
    """

    ranks: list[list[int]]
    rank: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    height: list[int] = field(default_factory=list)
    path: list[Path] = field(default_factory=list)
    links: list[tuple[int, int, int]] = field(default_factory=list)
    ways: list[list[int]] = field(default_factory=list)
    labels: list[int | None] = field(default_factory=list)
    spans: dict[Path, tuple[int, int]] = field(default_factory=dict)  # first and last rank of an area

    def add(self, rank: int, left: int, right: int, height: int, path: Path) -> int:
        """Add a node or point. Return its number."""
        number = len(self.rank)
        self.rank.append(rank)
        self.left.append(left)
        self.right.append(right)
        self.height.append(height)
        self.path.append(path)
        self.ranks[rank].append(number)
        return number


def chained(plan: Plan, ranks: Sequence[int]) -> Chains:
    """Return the chains of a plan whose nodes have these ranks."""
    told = {
        min(ranks[a.source], ranks[a.target])
        for a in plan.arcs
        if a.label[0] and ranks[a.source] != ranks[a.target]
    }
    row: list[int] = []  # of each rank its number among those of boxes and texts
    for rank in range(max(ranks) + 1):
        row.append(row[-1] + (2 if rank - 1 in told else 1) if row else 0)
    made = Chains([[] for _ in range(row[-1] + 1)])
    for node, rank in zip(plan.nodes, ranks, strict=True):
        half = node.width // 2
        made.add(row[rank], half, node.width - half, node.height, node.path)
    for node, rank in zip(plan.nodes, made.rank[:], strict=True):
        for depth in range(1, len(node.path) + 1):
            first, last = made.spans.get(node.path[:depth], (rank, rank))
            made.spans[node.path[:depth]] = (min(first, rank), max(last, rank))
    for arc in plan.arcs:
        _add_way(made, arc)
    _fill(made)
    return made


def _add_way(made: Chains, arc: Arc) -> None:
    above, below = arc.source, arc.target
    if made.rank[above] > made.rank[below]:
        above, below = below, above
    way, label = [above], None
    for rank in range(made.rank[above] + 1, made.rank[below]):
        path = _area(made, above, below, rank)
        width, height = arc.label
        if label is None and width:
            label = made.add(rank, _LINE, LABEL_GAP + width + _LINE, height, path)
            way.append(label)
        else:
            way.append(made.add(rank, _LINE, _LINE, 0, path))
    if made.rank[above] < made.rank[below]:
        way.append(below)
        for first, second in pairwise(way):
            inner = (first != above) + (second != below)
            # Long arrows are straight most of all, and a text is straight below the box that it is about.
            made.links.append((first, second, arc.weight * (3 if second == label else (1, 2, 8)[inner])))
        made.ways.append(way)
    else:
        made.ways.append([])
    made.labels.append(label)


def _area(made: Chains, above: int, below: int, rank: int) -> Path:
    """Return the area of an arrow at a rank: the upper end is left late, the lower entered soon."""
    upper, lower = made.path[above], made.path[below]
    common = 0
    while common < min(len(upper), len(lower)) and upper[common] == lower[common]:
        common += 1
    for depth in range(len(upper), common, -1):
        if made.spans[upper[:depth]][1] >= rank:
            return upper[:depth]
    for depth in range(len(lower), common, -1):
        if made.spans[lower[:depth]][0] <= rank:
            return lower[:depth]
    return upper[:common]


def _fill(made: Chains) -> None:
    present = {
        (path[:depth], rank)
        for path, rank in zip(made.path, made.rank, strict=True)
        for depth in range(1, len(path) + 1)
    }
    for path, (first, last) in sorted(made.spans.items(), key=lambda item: -len(item[0])):
        for rank in range(first, last + 1):
            if (path, rank) not in present:
                made.add(rank, 0, 0, 0, path)
                present.update((path[:depth], rank) for depth in range(1, len(path) + 1))


_SWEEPS = 24
_GAP = 20  # between neighbours, as long as nothing has a place


def ordered(chains: Chains) -> list[list[int]]:
    """Return the nodes and points of each rank from left to right."""
    return _Orders(chains).best()


class _Orders:
    def __init__(self, chains: Chains) -> None:
        self.chains = chains
        count = len(chains.rank)
        self.above: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self.below: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        for upper, lower, weight in chains.links:
            self.below[upper].append((lower, weight))
            self.above[lower].append((upper, weight))
        self.areas = {path: number for number, path in enumerate(chains.spans)}
        self.inside: dict[Path, list[int]] = {path: [] for path in self.areas}
        for node, path in enumerate(chains.path):
            for depth in range(1, len(path) + 1):
                self.inside[path[:depth]].append(node)
        self.ranks = [list(rank) for rank in chains.ranks]
        self.at = [0.0] * count

    def best(self) -> list[list[int]]:
        """Sweep down and up, and keep the order with the fewest crossings."""
        self._begin()
        kept, fewest = [list(rank) for rank in self.ranks], self._crossings()
        for sweep in range(_SWEEPS):
            if not fewest:
                break
            self._sweep(down=sweep % 2 == 0, both=sweep % 6 > 3)
            crossings = self._crossings()
            if crossings < fewest:
                kept, fewest = [list(rank) for rank in self.ranks], crossings
        self.ranks = kept
        self._exchange()
        return self.ranks

    def _begin(self) -> None:
        """Put all in the order in which a walk from each node down to its users meets them."""
        found: dict[int, int] = {}
        for start in range(len(self.at)):
            stack = [start]
            while stack:
                node = stack.pop()
                if node not in found:
                    found[node] = len(found)
                    stack += [n for n, _ in reversed(self.below[node])]
        wanted = [float(found[node]) for node in range(len(self.at))]
        self._arrange(wanted, {path: min(wanted[n] for n in nodes) for path, nodes in self.inside.items()})

    def _sweep(self, down: bool, both: bool) -> None:
        middles = {path: self._middle(nodes) for path, nodes in self.inside.items()}
        wanted = self.at
        for rank in range(len(self.ranks)) if down else range(len(self.ranks) - 1, -1, -1):
            for place, node in enumerate(self.ranks[rank]):
                near = self.above[node] if down else self.below[node]
                near = near + (self.below[node] if down else self.above[node]) if both else near
                wanted[node] = _mean(near, self.at, self.at[node]) + 1e-6 * place
            self._place(rank, self._sorted(self.ranks[rank], 0, wanted, middles))

    def _middle(self, nodes: Sequence[int]) -> float:
        """Return where an area would be: amid what its nodes are joined to outside and inside."""
        places = [_mean(self.above[n] + self.below[n], self.at, self.at[n]) for n in nodes]
        return sum(places) / len(places)

    def _arrange(self, wanted: Sequence[float], middles: dict[Path, float]) -> None:
        for rank, nodes in enumerate(self.ranks):
            self._place(rank, self._sorted(nodes, 0, wanted, middles))

    def _sorted(
        self, nodes: Sequence[int], depth: int, wanted: Sequence[float], middles: dict[Path, float]
    ) -> list[int]:
        """Return nodes of one rank and one area in order, those of each area inside together."""
        items: dict[tuple[float, int, int], list[int]] = {}
        for node in nodes:
            path = self.chains.path[node]
            if len(path) > depth:
                inner = path[: depth + 1]
                key = (middles[inner], 0, self.areas[inner])
            else:
                key = (wanted[node], 1, node)
            items.setdefault(key, []).append(node)
        out: list[int] = []
        for key in sorted(items):
            out += items[key] if key[1] else self._sorted(items[key], depth + 1, wanted, middles)
        return out

    def _place(self, rank: int, nodes: list[int]) -> None:
        """Give a rank its order, and its nodes places as if it stood alone."""
        self.ranks[rank] = nodes
        chains, at = self.chains, 0.0
        for node in nodes:
            self.at[node] = at + chains.left[node]
            at += chains.left[node] + chains.right[node] + _GAP
        for node in nodes:
            self.at[node] -= at / 2

    def _crossings(self) -> int:
        return sum(map(self._crossings_below, range(len(self.ranks) - 1)))

    def _crossings_below(self, rank: int) -> int:
        """Return how many links from this rank to the next cross: pairs whose ends have two orders."""
        place = {node: i for i, node in enumerate(self.ranks[rank + 1])}
        seen: list[int] = []
        crossings = 0
        for node in self.ranks[rank]:
            ends = sorted(place[lower] for lower, _ in self.below[node])
            crossings += sum(len(seen) - bisect_left(seen, end + 1) for end in ends)
            for end in ends:
                insort(seen, end)
        return crossings

    def _exchange(self) -> None:
        """Exchange neighbours of one area as long as that saves crossings."""
        path = self.chains.path
        for _ in range(8):
            changed = False
            for rank in range(len(self.ranks)):
                nodes = self.ranks[rank]
                up = {n: i for i, n in enumerate(self.ranks[rank - 1])} if rank else {}
                down = (
                    {n: i for i, n in enumerate(self.ranks[rank + 1])} if rank + 1 < len(self.ranks) else {}
                )
                for i in range(len(nodes) - 1):
                    a, b = nodes[i], nodes[i + 1]
                    if path[a] != path[b]:
                        continue
                    saved = _saved(self.above[a], self.above[b], up) + _saved(
                        self.below[a], self.below[b], down
                    )
                    if saved > 0:
                        nodes[i], nodes[i + 1] = b, a
                        changed = True
            if not changed:
                return


def _mean(near: Sequence[tuple[int, int]], at: Sequence[float], otherwise: float) -> float:
    total = sum(weight for _, weight in near)
    return sum(at[node] * weight for node, weight in near) / total if total else otherwise


def _saved(a: Sequence[tuple[int, int]], b: Sequence[tuple[int, int]], place: dict[int, int]) -> int:
    """Return how many crossings fewer there are if b stands before a."""
    saved = 0
    for first, _ in a:
        for second, _ in b:
            saved += (place[first] > place[second]) - (place[first] < place[second])
    return saved
