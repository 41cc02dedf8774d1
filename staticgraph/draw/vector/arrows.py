"""Arrows: a curve, and a head in the direction in which the curve ends."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from xml.etree.ElementTree import Element, SubElement

_LENGTH, _HALF = 7.0, 2.8  # of a head


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
