"""Variables inside the boxes of the operations that read them: `kernel 64×10`."""

from __future__ import annotations

from dataclasses import replace

from staticgraph.draw.model import Box, Drawing, Flow, Role

_READERS = 4  # of more, it has a box or stubs


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
        if 0 < len(found) <= _READERS and all(reader.role in (Role.OP, Role.RANDOM) for reader in found):
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
