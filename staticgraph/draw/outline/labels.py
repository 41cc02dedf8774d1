"""Arrows say a shape where it changes, and the heading says how many parameters the model has."""

from __future__ import annotations

import math
from dataclasses import replace

from staticgraph.draw.model import Drawing, Flow, Role
from staticgraph.draw.wording import amount


def with_changes_told(drawing: Drawing) -> Drawing:
    """Return a drawing without the text of arrows that carry on with the type of what came in."""
    given: dict[str, set[str]] = {}
    for link in drawing.links:
        if link.flow is Flow.DATA:
            given.setdefault(link.target, set()).add(link.text)
    links = [
        replace(link, text="") if link.flow is Flow.DATA and link.text in given.get(link.source, ()) else link
        for link in drawing.links
    ]
    return drawing.with_parts(drawing.boxes, links)


def with_parameters_told(drawing: Drawing) -> Drawing:
    """Return a drawing that counts the elements of its trainable variables, in boxes and in its heading."""
    boxes = []
    for box in drawing.boxes:
        shape = box.of.outputs[0].type.shape if box.role is Role.VARIABLE and _trained(box.of) else None
        if shape is not None and None not in shape:
            box = replace(box, parameters=math.prod(shape))
        boxes.append(box)
    total = sum(box.parameters for box in boxes)
    notes = (*drawing.notes, f"{amount(total)} parameters") if total else drawing.notes
    return replace(drawing.with_parts(boxes, drawing.links), notes=notes)


def _trained(op: object) -> bool:
    graph = op.graph  # type: ignore[attr-defined]
    return any(v.op is op for v in graph.get_collection("trainable_variables"))
