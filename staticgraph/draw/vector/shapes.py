"""Shapes: the outline of each kind of box, around its middle, and arrows, each a curve with a head."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from xml.etree.ElementTree import Element, SubElement

from staticgraph.draw.layout.model import Place
from staticgraph.draw.vector.sizes import TAB

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
