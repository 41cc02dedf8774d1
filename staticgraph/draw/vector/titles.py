"""Places of the titles of areas: at the upper left, or where no arrow goes through."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil

from staticgraph.draw.layout.model import Place, Route
from staticgraph.draw.vector.sizes import HEAD

_INSET = 8
_STEPS = 6  # points of a curve that are looked at


Heights = dict[int, list[tuple[float, float]]]  # points of arrows, by their height in steps of a title's


def heights(routes: Iterable[Route]) -> Heights:
    """Return where arrows go."""
    found: Heights = {}
    for route in routes:
        for x, y in _points(route.points):
            found.setdefault(int(y // HEAD), []).append((x, y))
    return found


def title_place(area: Place, width: float, arrows: Heights) -> tuple[int, int]:
    """Return where the text of an area's title begins: left, right or amid, as no arrow goes through it."""
    left, top = area.x - area.width // 2, area.y - area.height // 2
    right = left + area.width - _INSET - ceil(width)
    places = [left + _INSET, right, (left + _INSET + right) // 2]
    near = (point for step in (0, 1) for point in arrows.get(top // HEAD + step, ()))
    crossing = [x for x, y in near if top <= y <= top + HEAD]
    free = (x for x in places if not any(x - 3 <= at <= x + width + 3 for at in crossing))
    return next(free, places[0]), top + HEAD - 2


def _points(numbers: Sequence[int]) -> Iterator[tuple[float, float]]:
    """Yield points of a spline."""
    ends = list(zip(numbers[::2], numbers[1::2], strict=True))
    for start in range(0, len(ends) - 3, 3):
        piece = ends[start : start + 4]
        for step in range(_STEPS + 1):
            t = step / _STEPS
            shares = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            yield (
                sum(share * x for share, (x, _) in zip(shares, piece, strict=True)),
                sum(share * y for share, (_, y) in zip(shares, piece, strict=True)),
            )
