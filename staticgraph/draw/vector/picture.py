"""The SVG of a drawing: heading, areas, arrows, boxes and legend, each with its tooltip."""

from __future__ import annotations

import math
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from staticgraph.draw.layout import lay_out
from staticgraph.draw.layout.model import Layout, Place
from staticgraph.draw.model import Box, Drawing, Flow, Link, Path, Role, Work
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
from staticgraph.draw.vector.shapes import (
    AREA_SIZE,
    AREA_TITLE,
    ARROW_SIZE,
    HEAD,
    LINE,
    LINE_SIZE,
    TAB,
    TITLE_SIZE,
    add_arrow,
    add_shape,
    heights,
    is_bold,
    plan_of,
    texts_of,
    title_place,
)
from staticgraph.draw.wording import printable, shorten, text_width

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
