"""A graph as its user thinks of it: layers, equal blocks once, and the optimizer beside the model.

Each file here leaves out one kind of detail of a drawing: `outlined` applies those of a user's graph, and
`training.py` those of what the compiler made of it. Nothing else of the project needs to know them. Here,
arrows say a shape where it changes, and the heading says how many parameters the model has.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

from staticgraph.draw.model import Drawing, Flow, Role
from staticgraph.draw.outline.blocks import with_blocks_once
from staticgraph.draw.outline.closed import (
    with_calls_closed,
    with_optimizers_closed,
    with_stubs,
    with_weights_inside,
)
from staticgraph.draw.wording import amount


def outlined(drawing: Drawing, opened: Collection[str] = ()) -> Drawing:
    """Return a drawing of a user's graph without the detail that nobody asked for.

    Args:
        drawing: All of it.
        opened: The names of scopes to be shown from inside.
    """
    drawing = _with_parameters_told(drawing)
    drawing = with_optimizers_closed(drawing, opened)
    drawing = _with_changes_told(drawing)
    drawing = with_weights_inside(drawing)
    drawing = with_calls_closed(drawing, opened)
    drawing = with_blocks_once(drawing, opened)
    return with_stubs(drawing)


def _with_changes_told(drawing: Drawing) -> Drawing:
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


def _with_parameters_told(drawing: Drawing) -> Drawing:
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
