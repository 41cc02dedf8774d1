"""Long arrows as chains: every link joins two neighbouring ranks, by way of points that stand for the arrow.

Texts of arrows stand in ranks of their own, between the ranks of boxes. An area has a point in each of its
ranks that holds nothing of it, so that nothing else comes to stand there.
"""

from __future__ import annotations

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
