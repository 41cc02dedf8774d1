"""A drawing as nested sheets: each scope is drawn on a sheet of its own, on which the scopes in it are boxes.

A sheet is the quotient of the graph by "drawn in the same box". What is outside of its scope appears at its
border as a port, one for each box of the sheet around it that it is linked with. So all sheets together are
little larger than the graph, whichever of them are open, and none has more boxes than one can look at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import ceil

import networkx as nx

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.fold import Scope, as_box, cut, merged, shortened, tree_of
from staticgraph.draw.layout import lay_out
from staticgraph.draw.layout.model import Arc, Layout, Node, Plan, Size
from staticgraph.draw.model import SPINE, Box, Drawing, Flow, Link, Role, spine
from staticgraph.draw.wording import shorten, text_width

MOST = 60  # boxes of a sheet
RUN = 40  # boxes of a run that a longer row is cut into
PORTS = 8  # on either side of a sheet: what more there is has one port together
FEW = 24  # boxes of a sheet on which all links are drawn
DENSE = 1.5  # links per box: with more of them, only those are drawn that no others imply
OPENED, WIDE = 50, 1200  # boxes that are seen at first, about; points


@dataclass(frozen=True, slots=True)
class Port:
    """Crossing of links over the border of a sheet.

    `target` is the key of the box or port that the links lead to on the sheet around
    this one. It is empty if they lead to nothing in particular.
    """

    key: str
    title: str
    is_input: bool
    target: str = ""


@dataclass(slots=True)
class Sheet:
    """Drawing of one scope.

    `scopes` maps the key of each box that has a sheet of its own to the box's scope and the number of that
    sheet. If there are many links, `implied` holds the links between things that other links connect anyway.
    The page shows implied links for one box at a time, because nobody could follow all of them.
    """

    boxes: list[Box] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    implied: list[Link] = field(default_factory=list)
    scopes: dict[str, tuple[Scope, int]] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """The keys of the boxes, followed by the keys of the ports."""
        return [*(box.key for box in self.boxes), *(port.key for port in self.ports)]


_GIVEN = (Role.INPUT, Role.VARIABLE, Role.CONSTANT)
Names = dict[str, tuple[str, str]]  # of boxes somewhere: the key and title of what they are in on one sheet


def sheets_of(drawing: Drawing) -> list[Sheet]:
    """The sheets of a drawing, the outermost first."""
    drawing = _near_users(drawing)
    root = tree_of(drawing)
    shortened(root, drawing.links, MOST, runs=0)
    _cut(root, drawing.links)
    made: list[Sheet] = []
    _add(root, drawing.links, {}, {}, made)
    return made


def _near_users(drawing: Drawing) -> Drawing:
    """The drawing with variables and the like in the order of their first users, not of their construction:
    so they are on the same sheet, where a long row is cut.
    """
    order = {box.key: box.order for box in drawing.boxes}
    first: dict[str, int] = {}
    for link in drawing.links:
        first[link.source] = min(first.get(link.source, order[link.target]), order[link.target])
    made = {link.target for link in drawing.links}
    given = {box.key for box in drawing.boxes if box.role in _GIVEN and box.key not in made}
    place = {key: (first.get(key, at), 0) if key in given else (at, 1) for key, at in order.items()}
    return replace(drawing, boxes=tuple(sorted(drawing.boxes, key=lambda box: place[box.key])))


def opened(sheets: Sequence[Sheet], widths: Sequence[int]) -> list[int]:
    """The numbers of the sheets to show at first: outer ones before inner ones, small before large, and none
    that is very wide.
    """
    found, shown, level = [0], len(sheets[0].boxes), [0]
    while level:
        below = [number for outer in level for _, number in sheets[outer].scopes.values()]
        level = []
        for number in sorted(below, key=lambda n: (len(sheets[n].boxes), n)):
            if shown + len(sheets[number].boxes) <= OPENED and widths[number] <= WIDE:
                shown += len(sheets[number].boxes)
                level.append(number)
        found += level
    return sorted(found)


def _cut(scope: Scope, links: Sequence[Link]) -> None:
    """Cut rows of too many boxes into runs, at any depth."""
    if len(scope.items) > MOST:
        scope.items = cut(scope, links, min(-(-len(scope.items) // RUN), MOST))
    for item in scope.items:
        if isinstance(item, Scope) and len(item.items) > MOST:
            inside = {box.key for box in item.boxes}
            _cut(item, [link for link in links if link.source in inside and link.target in inside])
        elif isinstance(item, Scope):
            _cut(item, links)


def _add(scope: Scope, links: Sequence[Link], sources: Names, targets: Names, made: list[Sheet]) -> int:
    """Make the sheet of `scope` and those inside it; its number.

    `links` have an end in the scope. `sources` and `targets`: what boxes outside of it are in, on the sheet
    around this one, as sources and as targets of links.
    """
    sheet, number = Sheet(), len(made)
    made.append(sheet)
    inner: Names = {}
    for item in scope.items:
        box = item if isinstance(item, Box) else as_box(item, ())
        sheet.boxes.append(box)
        keys = (item.key,) if isinstance(item, Box) else (b.key for b in item.boxes)
        inner |= dict.fromkeys(keys, (box.key, box.title))
    into = _ports(sheet, True, sources, [link.source for link in links if link.source not in inner])
    out_of = _ports(sheet, False, targets, [link.target for link in links if link.target not in inner])
    home = {key: name for key, (name, _) in inner.items()} | {port.key: port.key for port in sheet.ports}
    _thin(sheet, list(merged([_moved(link, into, out_of) for link in links], home)))
    below: dict[str, list[Link]] = {}
    for link in links:
        for name in dict.fromkeys(home[end] for end in (link.source, link.target) if end in home):
            below.setdefault(name, []).append(link)
    for item, box in zip(scope.items, sheet.boxes, strict=True):
        if isinstance(item, Scope):
            child = _add(item, below.get(box.key, ()), inner | into, inner | out_of, made)
            sheet.scopes[box.key] = item, child
    return number


def _ports(sheet: Sheet, is_input: bool, outside: Names, ends: Sequence[str]) -> Names:
    """Add ports for the boxes outside of a sheet that `ends` names; the key and title of the port of each."""
    way = "in" if is_input else "out"
    counts = Counter(outside[end] for end in ends)
    places = list(counts)
    if len(places) > PORTS:
        kept = {place for place, _ in counts.most_common(PORTS - 1)}
        places = [place for place in places if place in kept]
        rest = len(counts) - len(places)
        sheet.ports.append(Port(f"{way} others", f"{rest} others", is_input))
    sheet.ports += [Port(f"{way} {key}", title, is_input, key) for key, title in places]
    known = {port.target: port for port in sheet.ports if port.is_input is is_input}
    found = {end: known.get(outside[end][0]) or sheet.ports[0] for end in dict.fromkeys(ends)}
    return {end: (port.key, port.title) for end, port in found.items()}


def _thin(sheet: Sheet, links: list[Link]) -> None:
    """Put the links on the sheet; where there are too many, some as implied by others."""
    way = nx.DiGraph((link.source, link.target) for link in links if link.flow is not Flow.NEXT)
    size = len(sheet.boxes) + len(sheet.ports)
    if size > FEW and len(links) > DENSE * size and nx.is_directed_acyclic_graph(way):
        needed = set(nx.transitive_reduction(way).edges)
        for link in links:
            drawn = link.flow is Flow.NEXT or (link.source, link.target) in needed
            (sheet.links if drawn else sheet.implied).append(link)
    else:
        sheet.links = links


def _moved(link: Link, into: Mapping[str, tuple[str, str]], out_of: Mapping[str, tuple[str, str]]) -> Link:
    """A link with the ports that it goes through for its ends outside."""
    if link.source in into:
        return replace(link, source=into[link.source][0])
    if link.target in out_of:
        return replace(link, target=out_of[link.target][0])
    return link


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
