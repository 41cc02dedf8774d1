"""Layout of the boxes and arrows of a sheet: Graphviz places boxes whose sizes are given.

The sizes are those of text in a common font, whatever fonts this machine has. So the same graph is laid out
alike everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Box, Flow, Link, Role
from staticgraph.draw.page.sheets import Port, Sheet
from staticgraph.draw.render import layouts
from staticgraph.draw.wording import shorten

TITLE, PORT = 30, 22  # characters of the titles of boxes and ports
ROW = 6  # boxes beside each other that have nothing, or only one thing, to do with others
_INCH = 72  # points
_LINE, _HEAD = 13, 17  # heights of lines
_THIN = 18  # the height of a port
ROOMY = 1.13
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|!()[]/ ·"), frozenset("mwMWOQ@%×→…")


@dataclass(frozen=True, slots=True)
class Place:
    """The centre of a box from the top left corner of its sheet, and its size, in points."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Route:
    """The points of a spline of Bézier curves: x, y, x, y, ..."""

    points: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A sheet's size, and where its boxes, then ports, and its links are."""

    width: int
    height: int
    places: tuple[Place, ...]
    routes: tuple[Route, ...]


def text_width(text: str, size: float) -> float:
    """About how wide a browser draws `text`; a little more, as fonts differ.

    >>> text_width("relu", 10) < text_width("RELU", 10) < text_width("MatMul", 10)
    True
    """
    wide = sum(0.32 if c in _NARROW else 0.86 if c in _WIDE else 0.68 if c.isupper() else 0.57 for c in text)
    return size * wide * ROOMY


def size_of(box: Box, is_scope: bool) -> tuple[float, float]:
    """Width and height of a box: a title with small lines below it."""
    title = text_width(shorten(box.title, TITLE), 12.5) + (20 if is_scope else 0)
    lines = [text_width(line, 10) for line in box.lines]
    margin = 34 if box.role is Role.RANDOM else 22
    rim = 6 if box.role is Role.VARIABLE else 0
    return max(title, *lines, 40) + margin, _HEAD + _LINE * len(box.lines) + 12 + rim


def place(sheets: Sequence[Sheet]) -> list[Placed]:
    """Lay out sheets. RendererMissingError where there is no Graphviz."""
    return [_read(*each) for each in zip(sheets, layouts([*map(_dot, sheets)]), strict=True)]


def _dot(sheet: Sheet) -> str:
    names = {key: f"b{i}" for i, key in enumerate(sheet.keys)}
    return "\n".join(_lines(sheet, names))


def _lines(sheet: Sheet, names: dict[str, str]) -> Iterator[str]:
    # Boxes are called by numbers, and have no text: nothing from outside is in it.
    yield 'digraph { graph [rankdir=TB nodesep="0.22" ranksep="0.32" pad="0" nslimit=4 mclimit=2]'
    yield 'node [shape=box fixedsize=true label=""] edge [arrowsize=0.6]'
    for box in sheet.boxes:
        yield _node(names[box.key], *size_of(box, box.key in sheet.scopes))
    for rank, inputs in (("source", True), ("sink", False)):
        ports = [port for port in sheet.ports if port.is_input is inputs]
        if ports:
            nodes = " ".join(_node(names[p.key], *port_size(p)) for p in ports)
            yield f"{{ rank={rank} {nodes} }}"
    degree = Counter(end for link in sheet.links for end in (link.source, link.target))
    ends: Counter[str] = Counter()  # boxes that have one arrow, by where it leads to or from
    for link in sheet.links:
        look = _look(link)
        for end, other in ((link.source, link.target), (link.target, link.source)):
            if degree[end] == 1 and degree[other] > ROW:
                look += f" minlen={1 + ends[other] // ROW}"  # in rows
                ends[other] += 1
        yield f"{names[link.source]} -> {names[link.target]} [{look}]"
    alone = [names[box.key] for box in sheet.boxes if box.key not in degree]
    for above, below in zip(alone, alone[ROW:], strict=False):
        yield f"{above} -> {below} [style=invis]"
    yield "}"


def port_size(port: Port) -> tuple[float, float]:
    """Width and height of a port."""
    return text_width(shorten(port.title, PORT), 10) + 18, _THIN


def _node(name: str, width: float, height: float) -> str:
    return f'{name} [width="{width / _INCH:.3f}" height="{height / _INCH:.3f}"]'


def _look(link: Link) -> str:
    match link.flow:
        case Flow.NEXT:
            return "constraint=false"
        case Flow.DATA:
            return "weight=3"
    return "arrowhead=none" if link.flow is Flow.REFERENCE else ""


def _read(sheet: Sheet, plain: str) -> Placed:
    """The layout out of Graphviz's plain format, in which y grows upwards and lengths are inches."""
    width = height = 0.0
    places: dict[str, Place] = {}
    routes: dict[tuple[str, str], list[Route]] = {}
    for line in plain.replace("\\\n", "").splitlines():
        kind, *words = line.split()
        match kind:
            case "graph":
                width, height = (_INCH * float(word) for word in words[1:3])
            case "node":
                x, y, w, h = (_INCH * float(word) for word in words[1:5])
                places[words[0]] = Place(round(x), round(height - y), round(w), round(h))
            case "edge":
                count = int(words[2])
                numbers = [_INCH * float(word) for word in words[3 : 3 + 2 * count]]
                flat = (round(height - n if i % 2 else n) for i, n in enumerate(numbers))
                routes.setdefault((words[0], words[1]), []).append(Route(tuple(flat)))
    names = {key: f"b{i}" for i, key in enumerate(sheet.keys)}
    found = [routes[names[link.source], names[link.target]].pop(0) for link in sheet.links]
    return Placed(round(width), round(height), tuple(places[n] for n in names.values()), tuple(found))
