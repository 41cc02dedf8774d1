"""Graphviz's SVG made fit for web pages and notebooks: tooltips that browsers show, no links, no doctype."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from staticgraph.draw.dot.source import JOINER
from staticgraph.draw.wording import printable

_SVG = "http://www.w3.org/2000/svg"
_TITLE, _TEXT, _GROUP, _ANCHOR = (f"{{{_SVG}}}{tag}" for tag in ("title", "text", "g", "a"))
_XLINK_TITLE = "{http://www.w3.org/1999/xlink}title"


def clean(svg: bytes, title: str) -> str:
    """The picture with `title` as its accessible name.

    Graphviz puts tooltips on links without a target, and names of its own into
    the titles that browsers show as tooltips. Here each title becomes the
    tooltip, and the links go. Text of boxes is centred by the viewer's font.
    """
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(svg.replace(JOINER.encode(), b""))
    for group in root.iter(_GROUP):
        if group.get("class") in ("node", "edge", "cluster"):
            _tooltip(group)
            if group.get("class") == "node":
                _centre(group)
        elif group.get("class") == "graph":
            for child in group.findall(_TITLE):
                group.remove(child)
    for parent in list(root.iter()):
        _unwrap(parent)
    root.set("role", "img")
    heading = ElementTree.Element(_TITLE)
    heading.text = printable(title)
    root.insert(0, heading)
    ElementTree.indent(root, " ")
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _tooltip(group: ElementTree.Element) -> None:
    found = next((a.get(_XLINK_TITLE) for a in group.iter(_ANCHOR) if a.get(_XLINK_TITLE)), None)
    for child in group.findall(_TITLE):
        if found:
            child.text = found
        else:
            group.remove(child)


def _unwrap(parent: ElementTree.Element) -> None:
    """Replace links below `parent`, and the groups that only hold one, by what is in them."""
    for position in range(len(parent) - 1, -1, -1):
        child = parent[position]
        if child.tag == _GROUP and len(child) == 1 and child[0].tag == _ANCHOR:
            parent[position : position + 1] = list(child[0])


def _centre(group: ElementTree.Element) -> None:
    """Centre the text of a box, which Graphviz places by the left edge that its own font gives."""
    shapes = ("polygon", "path", "ellipse")
    shape = next((e for e in group.iter() if e.tag.rpartition("}")[2] in shapes), None)
    if shape is None:
        return
    if shape.get("cx"):
        middle = float(shape.get("cx", "0"))
    else:
        numbers = re.findall(r"-?\d+(?:\.\d+)?", shape.get("points") or shape.get("d") or "")
        across = [float(x) for x in numbers[::2]]
        middle = (min(across) + max(across)) / 2
    for text in group.iter(_TEXT):
        text.set("x", f"{middle:g}")
        text.set("text-anchor", "middle")
