"""Curves of arrows: straight down past what stands in a rank, and aside in the gaps between ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from staticgraph.draw.layout.model import Layout, Place, Plan, Route
from staticgraph.draw.layout.order import LABEL_GAP, Chains
from staticgraph.draw.layout.places import Places

_APART = 9  # between the ends of arrows at one box, where there is room
_PART = 0.4  # of the width of a box, to both sides of its middle, on which arrows begin and end

Point = tuple[int, int]
Piece = tuple[int, int, int]  # where an arrow goes straight down, from which height to which


def routed(plan: Plan, chains: Chains, places: Places) -> Layout:
    """Return the layout with the curves of all arrows."""
    boxes = tuple(
        Place(places.x[number], places.middle(chains.rank[number]), node.width, node.height)
        for number, node in enumerate(plan.nodes)
    )
    starts, ends = _ends(plan, chains, places.x)
    routes, labels = [], []
    for number, (arc, way) in enumerate(zip(plan.arcs, chains.ways, strict=True)):
        if way:
            points = _down(chains, places, way, boxes, starts[number], ends[number])
            if way[0] != arc.source:
                points.reverse()
        else:
            points = _beside(boxes[arc.source], boxes[arc.target])
        routes.append([coordinate for point in points for coordinate in point])
        label = chains.labels[number]
        labels.append(
            None if label is None else (places.x[label] + LABEL_GAP, places.middle(chains.rank[label]))
        )
    return _fitted(plan, boxes, routes, labels, places)


def _fitted(
    plan: Plan,
    boxes: Sequence[Place],
    routes: Sequence[list[int]],
    labels: Sequence[Point | None],
    places: Places,
) -> Layout:
    """Return the layout with its left border at 0, as large as boxes, areas, arrows and texts take."""
    across, down = [0], [0]
    for place in (*boxes, *places.areas.values()):
        start, top = place.x - place.width // 2, place.y - place.height // 2
        across += (start, start + place.width)
        down.append(top + place.height)
    for route in routes:
        across += route[::2]
        down += route[1::2]
    across += (at[0] + arc.label[0] for arc, at in zip(plan.arcs, labels, strict=True) if at is not None)
    left, right = min(across), max(across)

    def moved(place: Place) -> Place:
        return Place(place.x - left, place.y, place.width, place.height)

    return Layout(
        right - left,
        max(down),
        tuple(map(moved, boxes)),
        tuple(Route(tuple(n if i % 2 else n - left for i, n in enumerate(route))) for route in routes),
        tuple(None if at is None else (at[0] - left, at[1]) for at in labels),
        {path: moved(place) for path, place in places.areas.items()},
    )


def _ends(plan: Plan, chains: Chains, x: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
    """Return for each arc where it leaves its upper box and where it meets its lower one."""
    leaving: dict[int, list[tuple[int, int]]] = {}
    meeting: dict[int, list[tuple[int, int]]] = {}
    for arc, way in enumerate(chains.ways):
        if way:
            leaving.setdefault(way[0], []).append((x[way[1]], arc))
    starts = _spread(plan, x, leaving)
    for arc, way in enumerate(chains.ways):
        if way:
            meeting.setdefault(way[-1], []).append((starts[arc] if len(way) == 2 else x[way[-2]], arc))
    return starts, _spread(plan, x, meeting)


def _spread(plan: Plan, x: Sequence[int], wanted: dict[int, list[tuple[int, int]]]) -> dict[int, int]:
    """Return the place of each arc at its box: where it wants to be, but apart from the others."""
    found: dict[int, int] = {}
    for node, arcs in wanted.items():
        room = round(_PART * plan.nodes[node].width)
        low, high = x[node] - room, x[node] + room
        apart = min(_APART, 2 * room // max(len(arcs) - 1, 1))
        at: list[int] = []
        for to, _ in sorted(arcs):
            at.append(max(min(max(to, low), high), at[-1] + apart if at else low))
        for i in range(len(at) - 1, -1, -1):
            at[i] = min(at[i], high if i == len(at) - 1 else at[i + 1] - apart)
        found |= {arc: place for (_, arc), place in zip(sorted(arcs), at, strict=True)}
    return found


def _down(
    chains: Chains, places: Places, way: Sequence[int], boxes: Sequence[Place], start: int, end: int
) -> list[Point]:
    """Return the curve from the upper box of a way to its lower one."""
    upper, lower = boxes[way[0]], boxes[way[-1]]
    pieces = [(start, upper.y - upper.height // 2 + upper.height, places.bottoms[chains.rank[way[0]]])]
    for point in way[1:-1]:
        rank = chains.rank[point]
        pieces.append((places.x[point], places.tops[rank], places.bottoms[rank]))
    pieces.append((end, places.tops[chains.rank[way[-1]]], lower.y - lower.height // 2))
    pieces = _loosened(chains, places, way, pieces)
    joined = [pieces[0]]
    for piece in pieces[1:]:
        if piece[0] == joined[-1][0]:
            joined[-1] = (piece[0], joined[-1][1], piece[2])
        else:
            joined.append(piece)
    return list(_curve(joined))


def _loosened(chains: Chains, places: Places, way: Sequence[int], pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces without those that an arrow need not stop at, for nothing stands beside them."""
    kept, passed = [pieces[0]], []  # passed since the last one that was kept
    for number in range(1, len(pieces) - 1):
        around = sorted((kept[-1][0], pieces[number + 1][0]))
        passed.append(way[number])
        straight = pieces[number][0] == around[0] == around[1]
        if not straight and all(_is_free(chains, places, point, *around) for point in passed):
            continue
        kept.append(pieces[number])
        passed.clear()
    return [*kept, pieces[-1]]


def _is_free(chains: Chains, places: Places, point: int, low: int, high: int) -> bool:
    """Return True if nothing else of the rank of a point stands between these places."""
    return chains.height[point] == 0 and not any(
        places.x[other] + chains.right[other] > low and places.x[other] - chains.left[other] < high
        for other in chains.ranks[chains.rank[point]]
        if other != point
    )


def _curve(pieces: Sequence[Piece]) -> Iterator[Point]:
    yield pieces[0][0], pieces[0][1]
    for piece, after in pairwise([*pieces, None]):
        assert piece is not None
        x, top, bottom = piece
        if bottom > top:
            yield from _straight(x, top, bottom)
        if after is not None:
            middle = (bottom + after[1]) // 2
            yield from ((x, middle), (after[0], middle), (after[0], after[1]))


def _straight(x: int, top: int, bottom: int) -> Iterator[Point]:
    third = (bottom - top) // 3
    return iter(((x, top + third), (x, bottom - third), (x, bottom)))


def _beside(source: Place, target: Place) -> list[Point]:
    """Return the curve below two boxes of one rank, or from a box back to itself."""
    a, b = (p.y - p.height // 2 + p.height for p in (source, target))
    low = max(a, b) + 16
    if source is target:
        side = source.x + source.width // 2
        return [
            (side, source.y),
            (side + 22, source.y),
            (side + 22, a + 14),
            (source.x + source.width // 4, a),
        ]
    return [(source.x, a), (source.x, low), (target.x, low), (target.x, b)]
