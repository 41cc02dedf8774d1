"""From a drawing to what is laid out: the sizes of boxes, titles and texts, and the weights of arrows."""

from __future__ import annotations

from math import ceil

from staticgraph.draw.emphasis import SPINE, spine, weight
from staticgraph.draw.layout.model import Arc, Node, Plan, Size
from staticgraph.draw.model import Box, Drawing, Flow, Path, Role
from staticgraph.draw.text import text_width
from staticgraph.draw.wording import box_lines, shorten

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
