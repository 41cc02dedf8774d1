"""From a drawing to what is laid out: the sizes of boxes, titles and texts, and places of titles of areas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil

from staticgraph.draw.layout.model import Arc, Node, Place, Plan, Route, Size
from staticgraph.draw.model import SPINE, Box, Drawing, Flow, Path, Role, spine, weight
from staticgraph.draw.wording import box_lines, shorten, text_width

TITLE, AREA_TITLE = 34, 60  # characters of the titles of boxes and areas
TITLE_SIZE, LINE_SIZE, ARROW_SIZE, AREA_SIZE = 11, 9, 9, 10  # of fonts
HEAD, LINE = 14, 12  # heights of lines
TAB = 5  # height of the tab of a folder, of the rim of a cylinder, and the depth of a box
_LEAST = 44


def plan_of(drawing: Drawing) -> Plan:
    """Return the boxes, arrows and areas of a drawing with their sizes."""
    number = {box.key: n for n, box in enumerate(drawing.boxes)}
    boxes = {box.key: box for box in drawing.boxes}
    main = spine(boxes, drawing.links)
    arcs = []
    for link in drawing.links:
        heavy = weight(link, boxes[link.source], boxes[link.target])
        if (link.source, link.target) in main:
            heavy *= SPINE
        label = (ceil(text_width(link.text, ARROW_SIZE)), LINE) if link.text else (0, 0)
        arcs.append(Arc(number[link.source], number[link.target], heavy, label, link.flow is not Flow.NEXT))
    paths: dict[Path, Size] = {}
    for box in drawing.boxes:
        for depth in range(1, len(box.path) + 1):
            path = box.path[:depth]
            title = shorten(drawing.region(path).title, AREA_TITLE)
            paths.setdefault(path, (ceil(text_width(title, AREA_SIZE)), HEAD))
    nodes = tuple(Node(*size_of(box), box.path) for box in drawing.boxes)
    return Plan(nodes, tuple(arcs), paths)


def texts_of(box: Box) -> tuple[str, tuple[str, ...]]:
    """Return the title of a box as it is shown, and the lines below it."""
    return shorten(box.title, TITLE), box_lines(box)


def is_bold(box: Box) -> bool:
    """Return True if the title of a box is bold."""
    return box.role is not Role.CONSTANT


def size_of(box: Box) -> Size:
    """Return the width and height of a box."""
    title, lines = texts_of(box)
    width = max(
        text_width(title, TITLE_SIZE, is_bold(box)), *(text_width(line, LINE_SIZE) for line in lines), 0
    )
    aside = (
        34 if box.role in (Role.RANDOM, Role.GRADIENTS, Role.CONTROL) else 8 if box.role is Role.STUB else 20
    )
    height = HEAD + LINE * len(lines) + (2 if box.role is Role.STUB else 10)
    if box.role in (Role.HIDDEN, Role.REPEATS, Role.VARIABLE):
        height += TAB
    if box.role is Role.CONTROL:
        height += 4
    return max(ceil(width) + aside, 0 if box.role is Role.STUB else _LEAST), height


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
