"""Orders of ranks in which few arrows cross: each node goes where its neighbours are, in sweeps down and up.

An area is one thing among others in every rank that it has, and the areas around a rank stand in the same
order in all ranks: so each of them is a rectangle (Forster 2002).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from staticgraph.draw.layout.chains import Chains
from staticgraph.draw.model import Path

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
