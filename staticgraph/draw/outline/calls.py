"""Layers and losses as one box: what one line of the program made, by the name that it has there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from staticgraph.compiler.graph.opdef import Effect
from staticgraph.draw.model import Box, Drawing, Flow, Path, Role
from staticgraph.draw.outline.sources import told
from staticgraph.draw.wording import WIDTH, counted, stem

_INSIDE = (Role.OP, Role.RANDOM, Role.CONSTANT, Role.VARIABLE, Role.ASSIGN)


def with_calls_closed(drawing: Drawing, opened: Collection[str] = ()) -> Drawing:
    """Return a drawing in which each scope that one line of the program made is one box.

    Not if several of its values are used outside of it: then its inside is what a reader looks for, unless it
    is that of exchanges with other processes.
    """
    scopes: dict[Path, list[Box]] = {}
    for box in drawing.boxes:
        for depth in range(1, len(box.path) + 1):
            scopes.setdefault(box.path[:depth], []).append(box)
    leaving = drawing.leaving
    home: dict[str, str] = {}
    changed: dict[str, Box] = {}
    for path, boxes in sorted(scopes.items(), key=lambda each: len(each[0])):
        keys = {box.key for box in boxes}
        if len(boxes) == 1 or keys & home.keys() or "/".join(path) in opened or path in drawing.regions:
            continue
        places = {box.place for box in boxes}
        given = (link for key in keys for link in leaving.get(key, ()) if link.flow is Flow.DATA)
        gives = {link.source for link in given if link.target not in keys}
        gives |= {box.key for box in boxes if box.fetched}
        plain = all(box.role in _INSIDE for box in boxes)
        if len(places) > 1 or not places.pop() or not plain or (len(gives) > 1 and not _exchanges(boxes)):
            continue
        last = next((box for box in boxes if box.key in gives), boxes[-1])
        home |= {key: last.key for key in keys if key != last.key}
        changed[last.key] = _closed(path, boxes, last)
    made = drawing.quotient(home, changed)
    # An update that runs after or before a call is a matter of its inside.
    links = [
        ln for ln in made.links if ln.flow is not Flow.CONTROL or not {ln.source, ln.target} & changed.keys()
    ]
    return made.with_parts(made.boxes, links)


def _exchanges(boxes: list[Box]) -> list[Box]:
    return [box for box in boxes if box.role is Role.OP and box.of.definition.effect is Effect.EXCHANGE]


def _closed(path: Path, boxes: list[Box], last: Box) -> Box:
    weights = [w for box in boxes for w in ((told(box),) if box.role is Role.VARIABLE else box.weights)]
    made = _exchanges(boxes) or [box for box in boxes if box.role in (Role.OP, Role.RANDOM)] or boxes
    ops = ", ".join(dict.fromkeys(box.of.type for box in made))
    summary = ops if len(ops) <= WIDTH else counted(len(made), "op")
    return replace(
        last,
        path=path[:-1],
        title=path[-1],
        order=boxes[0].order,
        kind=f"{ops} {stem(path[-1])}",
        lines=(summary,) if stem(path[-1]).lower() != ops.lower() else (),
        role=Role.OP,
        weights=tuple(dict.fromkeys(weights)),
        parameters=sum(box.parameters for box in boxes),
        tooltip="\n".join(["/".join(path), *(f"{box.key} ({box.of.type})" for box in boxes), last.place]),
    )
