"""A flag or number that many boxes read, such as `training`, has no arrows: each reader gets a small stub."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from staticgraph.draw.model import Box, Drawing, Flow, Link, Role

_READERS = 5  # from so many on
_SOURCES = (Role.INPUT, Role.VARIABLE, Role.CONSTANT)


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
        if box.role not in sources or len(readers) < _READERS:
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
