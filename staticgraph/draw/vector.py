"""A drawing as SVG of our own: heading, areas, arrows, boxes and legend, each with its tooltip.

`vector_svg` is the way in. Graphviz has no part in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from math import ceil, hypot
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from staticgraph.draw.layout import lay_out
from staticgraph.draw.layout.model import Arc, Layout, Node, Place, Plan, Route, Size
from staticgraph.draw.model import SPINE, Box, Drawing, Flow, Link, Path, Role, Work, spine, weight
from staticgraph.draw.palette import (
    ACCENT,
    FLOWS,
    FONT,
    GROUND,
    INK,
    NESTED_SCOPE,
    QUIET,
    ROLES,
    WORKS,
    Colours,
    LegendEntry,
    Look,
    entries,
)
from staticgraph.draw.wording import box_lines, printable, shorten, text_width

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


_ROUND = 6
_CORNER = 7  # of a note
_LENGTH, _HALF = 7.0, 2.8  # of the head of an arrow


def add_shape(parent: Element, shape: str, place: Place, look: dict[str, str]) -> None:
    """Add the outline of a box, of a kind that the palette names; one of no known kind is a rectangle."""
    left, top = place.x - place.width / 2, place.y - place.height / 2
    right, bottom = left + place.width, top + place.height
    match shape:
        case "plaintext":
            return
        case "rounded":
            _rectangle(parent, left, top, right, bottom, look, _ROUND)
        case "double":
            _rectangle(parent, left, top, right, bottom, look, 0)
            inner = look | {"fill": "none", "stroke-width": "1"}
            _rectangle(parent, left + 3, top + 3, right - 3, bottom - 3, inner, 0)
        case "ellipse":
            middle = {"cx": _n(place.x), "cy": _n(place.y)}
            radii = {"rx": _n(place.width / 2), "ry": _n(place.height / 2)}
            SubElement(parent, "ellipse", middle | radii | look)
        case "cylinder":
            _cylinder(parent, left, top, right, bottom, look)
        case "folder":
            tab = min(26.0, place.width / 3)
            points = [(left, bottom), (left, top), (left + tab, top), (left + tab + 4, top + TAB)]
            _polygon(parent, [*points, (right, top + TAB), (right, bottom)], look)
        case "box3d":
            _solid_box(parent, left, top, right, bottom, look)
        case "note":
            fold = right - _CORNER
            _polygon(
                parent,
                [(left, top), (fold, top), (right, top + _CORNER), (right, bottom), (left, bottom)],
                look,
            )
            corner = f"M{_n(fold)} {_n(top)}V{_n(top + _CORNER)}H{_n(right)}"
            SubElement(parent, "path", look | {"d": corner, "fill": "none"})
        case "hexagon":
            x = min(14.0, place.width / 4)
            upper = [(left, place.y), (left + x, top), (right - x, top)]
            _polygon(parent, [*upper, (right, place.y), (right - x, bottom), (left + x, bottom)], look)
        case "octagon":
            x = y = min(9.0, place.height / 3)
            upper = [(left, top + y), (left + x, top), (right - x, top), (right, top + y)]
            _polygon(
                parent,
                [*upper, (right, bottom - y), (right - x, bottom), (left + x, bottom), (left, bottom - y)],
                look,
            )
        case _:
            _rectangle(parent, left, top, right, bottom, look, 0)


def _cylinder(
    parent: Element, left: float, top: float, right: float, bottom: float, look: dict[str, str]
) -> None:
    width = right - left
    arc = f"a{_n(width / 2)} {TAB} 0 0 "
    side = f"V{_n(bottom - TAB)}{arc}0 {_n(width)} 0V{_n(top + TAB)}"
    SubElement(parent, "path", {"d": f"M{_n(left)} {_n(top + TAB)}{side}{arc}0 {_n(-width)} 0z"} | look)
    rim = {"d": f"M{_n(left)} {_n(top + TAB)}{arc}0 {_n(width)} 0", "fill": "none"}
    SubElement(parent, "path", look | rim)


def _solid_box(
    parent: Element, left: float, top: float, right: float, bottom: float, look: dict[str, str]
) -> None:
    front = [(left, top + TAB), (right - TAB, top + TAB), (right - TAB, bottom), (left, bottom)]
    back = [(left, top + TAB), (left + TAB, top), (right, top), (right, bottom - TAB), (right - TAB, bottom)]
    _polygon(parent, [*back, (left, bottom)], look)
    _polygon(parent, front, look)
    lid = {"d": f"M{_n(right - TAB)} {_n(top + TAB)}L{_n(right)} {_n(top)}", "fill": "none"}
    SubElement(parent, "path", look | lid)


def add_arrow(
    parent: Element, points: Sequence[int], look: dict[str, str], ink: dict[str, str], head: str
) -> None:
    """Add a spline of Bézier curves, x, y, x, y, ..., that looks like `look`.

    `ink` is the colour of its head, which is "normal", "vee" or "none".
    """
    at = [(float(x), float(y)) for x, y in zip(points[::2], points[1::2], strict=True)]
    tip, before = at[-1], next((p for p in reversed(at[:-1]) if p != at[-1]), at[0])
    long = hypot(tip[0] - before[0], tip[1] - before[1]) or 1.0
    along = ((tip[0] - before[0]) / long, (tip[1] - before[1]) / long)
    if head == "normal":
        at[-1] = (tip[0] - along[0] * _LENGTH, tip[1] - along[1] * _LENGTH)
    first, *rest = (f"{x:g} {y:g}" for x, y in at)
    SubElement(parent, "path", {"d": f"M{first}C{' '.join(rest)}", "fill": "none"} | look)
    if head == "none":
        return
    base = (tip[0] - along[0] * _LENGTH, tip[1] - along[1] * _LENGTH)
    aside = (along[1] * _HALF, along[0] * _HALF)
    sides = [(base[0] - aside[0], base[1] + aside[1]), (base[0] + aside[0], base[1] - aside[1])]
    text = " ".join(f"{x:.4g},{y:.4g}" for x, y in (sides[0], tip, sides[1]))
    if head == "vee":
        plain = {key: look[key] for key in ("stroke", "class")}
        SubElement(parent, "polyline", {"points": text, "fill": "none"} | plain)
    else:
        SubElement(parent, "polygon", {"points": text} | ink)


def _rectangle(
    parent: Element, left: float, top: float, right: float, bottom: float, look: dict[str, str], corner: float
) -> None:
    size = {"width": _n(right - left), "height": _n(bottom - top)}
    rounding = {"rx": _n(corner)} if corner else {}
    SubElement(parent, "rect", {"x": _n(left), "y": _n(top)} | size | rounding | look)


def _polygon(parent: Element, points: list[tuple[float, float]], look: dict[str, str]) -> None:
    text = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
    SubElement(parent, "polygon", {"points": text} | look)


def _n(number: float) -> str:
    return f"{number:g}"


_PAD = 16  # around the picture
_DASHES = {"dashed": "5,3", "dotted": "1.5,3"}
_TITLE_SIZE, _NOTE_SIZE = 14, 9
_PATCH = 26  # width of a colour in the legend


def vector_svg(drawing: Drawing, legend: bool, sideways: bool) -> str:
    """Return a drawing as SVG text, which refers to nothing outside of it."""
    layout = lay_out(plan_of(drawing), sideways)
    return _Picture(drawing, layout, list(entries(drawing)) if legend else []).text()


class _Picture:
    def __init__(self, drawing: Drawing, layout: Layout, entries: list[LegendEntry]) -> None:
        self.drawing, self.layout, self.entries = drawing, layout, entries
        self.heights = heights(layout.routes) if layout.areas else {}
        self.colours = Colours()
        self.root = Element(
            "svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "font-family": FONT}
        )

    def text(self) -> str:
        drawing, layout = self.drawing, self.layout
        self.root.append(_tooltip(drawing.title or "graph"))
        style = SubElement(self.root, "style")
        ground = SubElement(self.root, "rect", self.colours.look(GROUND))
        head = self._heading()
        columns, across = self._legend_size()
        wide = max(layout.width, across, *(text_width(t, s, b) for t, s, b in self._heads()), 0)
        width = math.ceil(wide) + 2 * _PAD
        body = SubElement(self.root, "g", {"transform": f"translate({(width - layout.width) // 2} {head})"})
        areas = sorted(layout.areas.items(), key=lambda item: len(item[0]))
        for path, place in areas:
            self._add_area(body, path, place)
        for link, route, label in zip(drawing.links, layout.routes, layout.labels, strict=True):
            self._add_link(body, link, route.points, label)
        for path, place in areas:
            self._add_title(body, path, place)
        for box, place in zip(drawing.boxes, layout.places, strict=True):
            self._add_box(body, box, place)
        height = head + layout.height + _PAD
        if self.entries:
            height = self._add_legend(height, columns)
        size = {"width": f"{width}pt", "height": f"{height}pt", "viewBox": f"0 0 {width} {height}"}
        self.root.attrib.update(size)
        ground.attrib.update({"width": f"{width}", "height": f"{height}"})
        style.text = self.colours.sheet()
        ElementTree.indent(self.root, " ")
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"

    def _heads(self) -> list[tuple[str, int, bool]]:
        title = [(self.drawing.title, _TITLE_SIZE, True)] if self.drawing.title else []
        return [*title, *((note, _NOTE_SIZE, False) for note in self.drawing.notes)]

    def _heading(self) -> int:
        """Add the title and the remarks. Return the height at which the graph begins."""
        y = _PAD
        for text, size, bold in self._heads():
            y += size + 3
            self._add_text(
                self.root, text, _PAD, y - 3, size, INK if bold else QUIET, bold=bold, anchor="start"
            )
        return y + (10 if y > _PAD else 0)

    def _add_area(self, body: Element, path: Path, place: Place) -> None:
        region = self.drawing.region(path)
        look = WORKS[region.work]
        group = _group(body, "cluster", region.tooltip or region.title)
        add_shape(group, "rounded", place, self._look(look, self._ground(path), look.stroke, look.width))

    def _ground(self, path: Path) -> str:
        """Return the colour of an area. Scopes in scopes take turns."""
        work = self.drawing.region(path).work
        return NESTED_SCOPE if work is Work.SCOPE and len(path) % 2 == 0 else WORKS[work].fill

    def _add_title(self, body: Element, path: Path, place: Place) -> None:
        """Add the title of an area, above arrows that nothing but it can keep clear."""
        title = shorten(self.drawing.region(path).title, AREA_TITLE)
        x, y = title_place(place, text_width(title, AREA_SIZE), self.heights)
        rim = self.colours.rim(self._ground(path))
        self._add_text(body, title, x, y, AREA_SIZE, QUIET, anchor="start", rim=rim)

    def _add_link(
        self, body: Element, link: Link, points: tuple[int, ...], label: tuple[int, int] | None
    ) -> None:
        flow = FLOWS[link.flow]
        width = float(flow.get("penwidth", "1"))
        if link.count > 1 and link.flow is Flow.DATA:
            width = 1 + math.log2(link.count) / 3
        group = _group(body, "edge", link.tooltip)
        dash = {"stroke_dasharray": _DASHES[flow["style"]]} if flow["style"] in _DASHES else {}
        look = self.colours.look(line=flow["color"], stroke_width=f"{width:.3g}", **dash)
        add_arrow(group, points, look, self.colours.ink(flow["color"]), flow.get("arrowhead", "normal"))
        if label is not None:
            x, y = label
            self._add_text(group, link.text, x, y + 3, ARROW_SIZE, QUIET, anchor="start")

    def _add_box(self, body: Element, box: Box, place: Place) -> None:
        look = ROLES[box.role]
        work = look if box.work is Work.SCOPE else WORKS[box.work]
        line, width = (ACCENT, 2.4) if box.fetched else (work.stroke, look.width)
        group = _group(body, "node", box.tooltip)
        shape = "double" if look.double else "rounded" if "rounded" in look.style else look.shape
        add_shape(group, shape, place, self._look(look, work.fill, line, width))
        title, lines = texts_of(box)
        tab = TAB if box.role in (Role.HIDDEN, Role.REPEATS, Role.VARIABLE) else 0
        x = place.x - (TAB / 2 if box.role is Role.REPEATS else 0)
        y = place.y + tab / 2 - (HEAD + LINE * len(lines)) / 2 + 11
        self._add_text(group, title, x, y, TITLE_SIZE, INK, bold=is_bold(box))
        for number, each in enumerate(lines, 1):
            self._add_text(group, each, x, y + LINE * number, LINE_SIZE, QUIET)

    def _look(self, look: Look, fill: str, line: str, width: float) -> dict[str, str]:
        dash = next((_DASHES[style] for style in look.style.split(",") if style in _DASHES), "")
        others = {"stroke_dasharray": dash} if dash else {}
        return self.colours.look(fill, line, stroke_width=f"{width:g}", **others)

    def _legend_size(self) -> tuple[int, float]:
        """Return the number of columns of the legend, and its width."""
        columns = min(2 if len(self.drawing.boxes) < 12 else 3, len(self.entries))
        return columns, columns * self._column() if columns else 0.0

    def _column(self) -> float:
        return _PATCH + 6 + max(text_width(entry.text, LINE_SIZE) for entry in self.entries) + 16

    def _add_legend(self, top: int, columns: int) -> int:
        """Add the legend below the graph. Return the height of the whole."""
        group = SubElement(self.root, "g", {"class": "legend"})
        for number, entry in enumerate(self.entries):
            row, column = divmod(number, columns)
            x, y = _PAD + round(column * self._column()), top + 8 + 17 * row
            if entry.arrow:
                ink = self.colours.ink(entry.stroke)
                flow = next(f for f in FLOWS.values() if f["color"] == entry.stroke)
                look = self.colours.look(line=entry.stroke, stroke_dasharray=_DASHES[flow["style"]])
                ends = (x, y, x + 8, y, x + 18, y, x + _PATCH, y)
                add_arrow(group, ends, look, ink, flow.get("arrowhead", "normal"))
            else:
                patch = self.colours.look(entry.fill, entry.stroke, stroke_width=f"{entry.width:g}")
                add_shape(group, "", Place(x + _PATCH // 2, y, _PATCH, 12), patch)
            self._add_text(group, entry.text, x + _PATCH + 6, y + 3, LINE_SIZE, QUIET, anchor="start")
        return top + 8 + 17 * -(-len(self.entries) // columns) + _PAD // 2

    def _add_text(
        self,
        parent: Element,
        text: str,
        x: float,
        y: float,
        size: int,
        colour: str,
        bold: bool = False,
        anchor: str = "middle",
        rim: dict[str, str] | None = None,
    ) -> None:
        """Add a line of text, with a rim in the colour of its ground or none.

        It is as wide as it was measured, in whatever font the viewer has.
        """
        shown = printable(text)
        if not shown.strip():
            return
        at = {"x": f"{x:g}", "y": f"{y:g}", "font-size": f"{size}", "text-anchor": anchor}
        fit = {"textLength": f"{text_width(shown, size, bold):.1f}", "lengthAdjust": "spacingAndGlyphs"}
        weight = {"font-weight": "bold"} if bold else {}
        look = self.colours.ink(colour)
        if rim is not None:
            look |= rim | {"class": f"{look['class']} {rim['class']}"}
        SubElement(parent, "text", at | fit | weight | look).text = shown


def _group(parent: Element, kind: str, tooltip: str) -> Element:
    group = SubElement(parent, "g", {"class": kind})
    if tooltip:
        group.append(_tooltip(tooltip))
    return group


def _tooltip(text: str) -> Element:
    title = Element("title")
    title.text = "\n".join(map(printable, text.split("\n")))
    return title
