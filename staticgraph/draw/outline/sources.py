"""Variables, inputs and constants that are read without arrows: inside the boxes of readers, or as stubs.

A variable that a few boxes read is a line of them: `kernel 64×10`. A flag or number that many boxes read,
such as `training`, stands beside each of them as a small stub.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from staticgraph.draw.model import Box, Drawing, Flow, Link, Role

_FEW = 4  # readers of a variable that is a line of each
_MANY = 5  # readers, from which on a source has stubs
_SOURCES = (Role.INPUT, Role.VARIABLE, Role.CONSTANT)


def with_weights_inside(drawing: Drawing) -> Drawing:
    """Return a drawing in which each variable that a few boxes read is a line of these boxes."""
    boxes = {box.key: box for box in drawing.boxes}
    readers: dict[str, dict[str, None]] = {}
    others: set[str] = set()  # that are changed, or must come before something
    for link in drawing.links:
        if link.flow is Flow.DATA:
            readers.setdefault(link.source, {})[link.target] = None
        others.add(link.target)
        if link.flow is Flow.CONTROL:
            others.add(link.source)
    gone: set[str] = set()
    changed: dict[str, Box] = {}
    for box in drawing.boxes:
        if box.role is not Role.VARIABLE or box.fetched or box.key in others:
            continue
        found = [changed.get(key, boxes[key]) for key in readers.get(box.key, ())]
        if 0 < len(found) <= _FEW and all(reader.role in (Role.OP, Role.RANDOM) for reader in found):
            gone.add(box.key)
            for number, reader in enumerate(found):
                line = f"{told(box)} (shared)" if number else told(box)
                changed[reader.key] = replace(
                    reader,
                    weights=(*reader.weights, line),
                    parameters=reader.parameters + (0 if number else box.parameters),
                    tooltip=f"{reader.tooltip}\n{box.tooltip.partition(chr(10))[0]}: {box.lines[0]}",
                )
    links = [link for link in drawing.links if link.source not in gone]
    return drawing.with_parts([changed.get(b.key, b) for b in drawing.boxes if b.key not in gone], links)


def told(variable: Box) -> str:
    """Return a variable as a line of the box that reads it: `kernel 64×10`."""
    name, sizes = variable.title.rpartition("/")[2], variable.lines[0].rpartition(" ")[0]
    return f"{name} {sizes}".strip()


def with_stubs(drawing: Drawing, sources: Collection[Role] = _SOURCES) -> Drawing:
    """Return a drawing in which what many boxes read stands as a stub beside each of them.

    Args:
        drawing: All of it.
        sources: The roles of boxes that may have stubs.
    """
    read: dict[str, list[Link]] = {}
    for link in drawing.links:
        if link.flow is Flow.DATA:
            read.setdefault(link.source, []).append(link)
    boxes, links = {box.key: box for box in drawing.boxes}, list(drawing.links)
    for box in drawing.boxes:
        readers = dict.fromkeys(link.target for link in read.get(box.key, ()))
        if box.role not in sources or len(readers) < _MANY:
            continue
        links = [link for link in links if link.source != box.key or link.flow is not Flow.DATA]
        for reader in readers:
            stub = _stub(box, boxes[reader])
            boxes[stub.key] = stub
            links.append(Link(stub.key, reader, box.key))
    return drawing.with_parts(boxes.values(), links)


def _stub(box: Box, reader: Box) -> Box:
    return replace(
        box,
        key=f"{box.key} for {reader.key}",
        path=reader.path,
        role=Role.STUB,
        order=reader.order,
        lines=(),
        kind=f"stub {box.title}",
        fetched=False,
        parameters=0,
        tooltip=f"{box.key}, which many read",
    )
