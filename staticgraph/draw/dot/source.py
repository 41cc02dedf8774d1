"""A drawing as text in Graphviz's language.

Labels and the legend are in its HTML-like markup. Text from outside comes in through `plain` or `escaped`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence

import graphviz

from staticgraph.draw.model import SPINE, Box, Drawing, Flow, Link, Path, Region, Role, Work, spine, weight
from staticgraph.draw.palette import (
    ACCENT,
    FLOWS,
    FONT,
    INK,
    NESTED_SCOPE,
    QUIET,
    ROLES,
    WORKS,
    LegendEntry,
    entries,
)
from staticgraph.draw.wording import box_lines, printable, shorten

# Behind a backslash, Graphviz takes some letters for "the name of this node" and the like, in markup too, and
# in some attributes it looks twice. This invisible character comes between the two.
JOINER = "\u2060"


def plain(text: str) -> str:
    """`text` as markup that shows exactly it."""
    return _entities(text).replace("\\", "\\" + JOINER)


def escaped(text: str) -> str:
    """`text`, of one or more lines, for an attribute in which Graphviz expands entities and backslashes."""
    lines = (_entities(line).replace("\\", "\\\\" + JOINER) for line in text.split("\n"))
    return graphviz.nohtml("\\n".join(lines))


def _entities(text: str) -> str:
    return html.escape(printable(text), quote=False)


def label(
    title: str, lines: Sequence[str] = (), bold: bool = True, quiet: bool = False, room: int = 0
) -> str:
    """A title with small lines below it, and `room` spaces for fonts wider than Graphviz believes."""
    head = (plain(title) or " ") + "&nbsp;" * room
    head = f"<b>{head}</b>" if bold and not quiet else head
    if not lines:
        return f"<{head}>"
    rows = [head, *(f'<font point-size="9" color="{QUIET}">{plain(line)}</font>' for line in lines)]
    cells = "".join(f"<tr><td>{row}</td></tr>" for row in rows)
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="1">{cells}</table>>'


def legend_table(drawing: Drawing) -> str:
    """The legend as an HTML-like table; empty if there is nothing to explain."""
    found = list(entries(drawing))
    if not found:
        return ""
    across = 2 if len(drawing.boxes) < 12 else 3
    rows = "".join(f"<tr>{''.join(map(_cells, row))}</tr>" for row in _batched(found, across))
    return f'<table border="0" cellborder="0" cellspacing="5" cellpadding="1">{rows}</table>'


def _batched(found: list[LegendEntry], across: int) -> Iterator[list[LegendEntry]]:
    for start in range(0, len(found), across):
        yield found[start : start + across]


def _cells(entry: LegendEntry) -> str:
    if entry.arrow:
        sample = f'<td width="26"><font color="{entry.stroke}">{entry.arrow}</font></td>'
    else:
        sample = (
            f'<td width="26" height="13" fixedsize="true" border="{round(entry.width)}" '
            f'bgcolor="{entry.fill}" color="{entry.stroke}"></td>'
        )
    text = f'<font point-size="9" color="{QUIET}">{plain(entry.text)}&nbsp;&nbsp;</font>'
    return f'{sample}<td align="left">{text}</td>'


TITLE = 34  # characters of a title


def dot_source(drawing: Drawing, legend: bool, sideways: bool) -> str:
    """The DOT text of `drawing`. The same drawing gives the same text."""
    graph = graphviz.Digraph("staticgraph")
    graph.attr(
        "graph",
        rankdir="LR" if sideways else "TB",
        nodesep="0.28",
        ranksep="0.36",
        pad="0.25",
        labelloc="b",
        labeljust="l",
        fontname=FONT,
        fontsize="11",
        fontcolor=INK,
        bgcolor="white",
        newrank="true",  # one ranking for all scopes: arrows between scopes point down too
        nslimit="4",
        mclimit="2",  # bounds on the layout's patience
    )
    graph.attr("node", fontname=FONT, fontsize="11", fontcolor=INK, height="0.3", width="0.6")
    graph.attr("edge", fontname=FONT, fontsize="9", fontcolor=QUIET, arrowsize="0.6")
    if legend and (table := legend_table(drawing)):
        graph.attr("graph", label=f"<{table}>")
    names = {box.key: f"b{i}" for i, box in enumerate(drawing.boxes)}
    # A graph has one label, and the legend is it: the heading is the label of an area around everything.
    with graph.subgraph(name="cluster_all") as frame:
        frame.attr("graph", label=_heading(drawing), labelloc="t", labeljust="l", peripheries="0", margin="4")
        _add_scope(frame, drawing, (), names)
    boxes = {box.key: box for box in drawing.boxes}
    main = spine(boxes, drawing.links)
    for link in drawing.links:
        _add_link(graph, link, names, boxes[link.source], boxes[link.target], main)
    return graph.source


def _heading(drawing: Drawing) -> str:
    """The title and the remarks, as an HTML-like table."""
    lines = [f'<font point-size="14"><b>{plain(drawing.title)}</b></font>'] if drawing.title else []
    lines += [f'<font point-size="9" color="{QUIET}">{plain(note)}</font>' for note in drawing.notes]
    if not lines:
        return ""
    rows = "".join(f'<tr><td align="left">{line}</td></tr>' for line in lines)
    return f'<<table border="0" cellborder="0" cellspacing="0" cellpadding="2">{rows}</table>>'


def _add_scope(graph: graphviz.Digraph, drawing: Drawing, path: Path, names: dict[str, str]) -> None:
    """The boxes of a scope, then the scopes in it."""
    for box in drawing.boxes:
        if box.path == path:
            _add_box(graph, box, names[box.key])
    depth = len(path)
    below = [b for b in drawing.boxes if len(b.path) > depth and b.path[:depth] == path]
    inner = dict.fromkeys(b.path[: depth + 1] for b in below)
    for child in inner:
        # Names of clusters are counted by their first box: names of scopes may hold anything.
        first = next(names[b.key] for b in drawing.boxes if b.path[: depth + 1] == child)
        with graph.subgraph(name=f"cluster_{depth}_{first}") as cluster:
            cluster.attr("graph", **_region_look(drawing.region(child), depth))
            _add_scope(cluster, drawing, child, names)


def _region_look(region: Region, depth: int) -> dict[str, str]:
    look = WORKS[region.work]
    fill = NESTED_SCOPE if region.work is Work.SCOPE and depth % 2 else look.fill
    return {
        "label": label(region.title, bold=False, room=2),
        "labelloc": "t",
        "labeljust": "l",
        "fontsize": "10",
        "fontcolor": QUIET,
        "style": look.style,
        "fillcolor": fill,
        "color": look.stroke,
        "margin": "10",
        "penwidth": str(look.width),
        "peripheries": "1",
        "tooltip": escaped(region.tooltip or region.title),
    }


def _add_box(graph: graphviz.Digraph, box: Box, name: str) -> None:
    look = ROLES[box.role]
    attrs = {
        "shape": look.shape,
        "style": look.style,
        "fillcolor": look.fill,
        "color": look.stroke,
        "penwidth": str(look.width),
        "margin": margin(box),
        "tooltip": escaped(box.tooltip),
        "label": label(shorten(box.title, TITLE), box_lines(box), quiet=box.role is Role.CONSTANT),
    }
    if look.double:
        attrs["peripheries"] = "2"
    if box.work is not Work.SCOPE:
        attrs |= {"fillcolor": WORKS[box.work].fill, "color": WORKS[box.work].stroke}
    if box.fetched:
        attrs |= {"color": ACCENT, "penwidth": "2.4"}
    graph.node(name, **attrs)


def margin(box: Box) -> str:
    """Room around a label: the fonts of a viewer may be a tenth wider than those that Graphviz measured."""
    longest = max(len(box.title[:TITLE]), *map(len, box_lines(box)), 0)
    above = 0.09 if box.role in (Role.HIDDEN, Role.REPEATS) else 0.05  # for the tab at the top
    return f"{0.1 + 0.006 * longest:.3f},{above}"


def _add_link(
    graph: graphviz.Digraph,
    link: Link,
    names: dict[str, str],
    source: Box,
    target: Box,
    main: set[tuple[str, str]],
) -> None:
    tip = escaped(link.tooltip)
    attrs = {
        "weight": str(weight(link, source, target) * (SPINE if (source.key, target.key) in main else 1)),
        **FLOWS[link.flow],
        "edgetooltip": tip,
    }
    if link.count > 1 and link.flow is Flow.DATA:
        attrs["penwidth"] = f"{1 + math.log2(link.count) / 3:.2f}"
    if link.text:
        attrs |= {"label": escaped(f" {link.text} "), "labeltooltip": tip}
    graph.edge(names[link.source], names[link.target], **attrs)
