"""Makes a drawing small enough to be looked at: closes scopes until few boxes are left, and merges links.

The result is the quotient of the graph by "drawn in the same box": each folded box says how many operations
it holds, and links between the same two boxes are one link.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import networkx as nx

from staticgraph.draw.model import Box, Drawing, Flow, Link, Path, Region
from staticgraph.draw.series import shortened
from staticgraph.draw.tree import Scope, as_box, inside_of, tree_of

# Part of the boxes that may be drawn up to which scopes are opened: fewer where each box has many arrows.
OPENED, OPENED_IN_A_STEP = 0.6, 0.3


def fold(drawing: Drawing, most: int | None, depth: int | None = None, opened: float = OPENED) -> Drawing:
    """`drawing` with at most about `most` boxes, and with scopes nested more than `depth` deep closed.

    None: no limit. Scopes are opened as long as at most the part `opened` of `most` boxes is drawn.
    """
    root = tree_of(drawing)
    if most is not None:
        shortened(root, drawing.links, most)
    shown = _opened(root, None if most is None else most * opened, depth)
    boxes: list[Box] = []
    regions: dict[Path, Region] = {}
    home: dict[str, str] = {}
    _draw(root, (), shown, boxes, regions, home)
    links = merged(drawing.links, home)
    return Drawing((), (), drawing.title, regions, drawing.notes).with_parts(boxes, links)


def _opened(root: Scope, most: float | None, depth: int | None) -> set[Scope]:
    """The scopes to show from inside, outer ones first. Those that look alike are opened together."""
    opened = {root}
    drawn = len(root.items)
    level = 1
    frontier = [root]
    while frontier and (depth is None or level <= depth):
        alike: dict[object, list[Scope]] = {}
        for scope in frontier:
            for item in scope.items:
                if isinstance(item, Scope) and item.folded is None:
                    alike.setdefault(inside_of(item), []).append(item)
        frontier = []
        for scopes in sorted(alike.values(), key=lambda each: sum(len(s.items) for s in each)):
            more = sum(len(s.items) - 1 for s in scopes)
            if most is None or drawn + more <= most:
                drawn += more
                opened.update(scopes)
                frontier += scopes
        level += 1
    return opened


def _draw(
    scope: Scope,
    path: Path,
    opened: set[Scope],
    boxes: list[Box],
    regions: dict[Path, Region],
    home: dict[str, str],
) -> None:
    for item in scope.items:
        match item:
            case Box():
                boxes.append(replace(item, path=path))
                home[item.key] = item.key
            case Scope() if item in opened:
                inner = (*path, f"{item.title} {next(item.boxes).key}")  # two scopes may have one title
                regions[inner] = Region(item.title, item.work, item.tooltip or "/".join(item.path))
                _draw(item, inner, opened, boxes, regions, home)
            case _:
                box = as_box(item, path)
                boxes.append(box)
                home.update(dict.fromkeys((b.key for b in item.boxes), box.key))


def merged(links: Sequence[Link], home: Mapping[str, str]) -> Iterator[Link]:
    """`links` between the boxes in which their ends are drawn: one per pair of boxes and kind of link."""
    quotient = nx.MultiDiGraph()
    for link in links:
        source, target = home[link.source], home[link.target]
        if source != target:
            if not quotient.has_edge(source, target, link.flow):
                quotient.add_edge(source, target, link.flow, tensors={})
            quotient.edges[source, target, link.flow]["tensors"].setdefault(link.tensor, link)
    for source, target, flow in [e for e in quotient.edges(keys=True) if e[2] is Flow.CONTROL]:
        data = quotient.edges[source, target, flow]
        quotient.remove_edge(source, target, flow)
        if not nx.has_path(quotient, source, target):  # otherwise the order follows from other links
            quotient.add_edge(source, target, flow, **data)
    for source, target, flow, data in quotient.edges(keys=True, data=True):
        yield _one(source, target, flow, list(data["tensors"].values()))


def _one(source: str, target: str, flow: Flow, links: list[Link]) -> Link:
    if len(links) == 1:
        text = links[0].text
    elif flow is not Flow.DATA:
        text = ""
    else:
        texts = {link.text for link in links}
        text = f"{len(links)} × {texts.pop()}" if len(texts) == 1 else f"{len(links)} tensors"
        text = text if any(link.text for link in links) else ""
    tips = [link.tooltip for link in links[:8]]
    if len(links) > 8:
        tips.append(f"and {len(links) - 8} more")
    return Link(source, target, "", text, "\n".join(tips), flow, len(links))
