"""Layout of the boxes, ports and arrows of a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from staticgraph.draw.layout import lay_out
from staticgraph.draw.layout.model import Arc, Layout, Node, Plan, Size
from staticgraph.draw.model import SPINE, Box, Flow, Link, Role, spine
from staticgraph.draw.page.sheets import Port, Sheet
from staticgraph.draw.wording import shorten, text_width

TITLE, PORT = 30, 22  # characters of the titles of boxes and ports
_LINE, _HEAD = 13, 17  # heights of lines
_THIN = 18  # the height of a port
_ROOM = 1.08  # of text: fonts of browsers differ


def place(sheets: Sequence[Sheet]) -> list[Layout]:
    """Return the layouts of sheets, with the boxes of each before its ports."""
    return [lay_out(_plan(sheet)) for sheet in sheets]


def _plan(sheet: Sheet) -> Plan:
    boxes = [Node(*size_of(box, box.key in sheet.scopes)) for box in sheet.boxes]
    ports = [Node(*_port_size(port), side=-1 if port.is_input else 1) for port in sheet.ports]
    number = {key: n for n, key in enumerate(sheet.keys)}
    inputs = [port.key for port in sheet.ports if port.is_input]
    others = [key for key in sheet.keys if key not in inputs]  # the ports for results last
    main = spine([*inputs, *others], sheet.links)
    arcs = [
        Arc(
            number[a],
            number[b],
            _weight(link) * (SPINE if (a, b) in main else 1),
            ranking=link.flow is not Flow.NEXT,
        )
        for link in sheet.links
        for a, b in [(link.source, link.target)]
    ]
    return Plan((*boxes, *ports), tuple(arcs), rank_gap=24, node_gap=16)


def size_of(box: Box, is_scope: bool) -> Size:
    """Return the width and height of a box: a title with small lines below it."""
    title = _ROOM * text_width(shorten(box.title, TITLE), 12.5, bold=True) + (20 if is_scope else 0)
    lines = [_ROOM * text_width(line, 10) for line in box.lines]
    margin = 34 if box.role is Role.RANDOM else 22
    rim = 6 if box.role is Role.VARIABLE else 0
    return ceil(max(title, *lines, 40)) + margin, _HEAD + _LINE * len(box.lines) + 12 + rim


def _port_size(port: Port) -> Size:
    return ceil(_ROOM * text_width(shorten(port.title, PORT), 10)) + 18, _THIN


def _weight(link: Link) -> int:
    return 3 if link.flow is Flow.DATA else 1
