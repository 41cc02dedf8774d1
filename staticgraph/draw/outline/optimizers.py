"""Optimizers as one box each: what they keep, compute and assign is no part of the model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import networkx as nx

from staticgraph.draw.model import Box, Drawing, Flow, Role
from staticgraph.draw.wording import counted, value_text

_NUMBERS = ("learning_rate", "momentum")


def with_optimizers_closed(drawing: Drawing, opened: Collection[str] = ()) -> Drawing:
    """Return a drawing in which each optimizer is one box, but those in `opened`.

    An optimizer is a scope with an operation of its own name, such as `Adam`, in which variables are assigned
    what comes from a box of gradients.
    """
    graph = nx.DiGraph((link.source, link.target) for link in drawing.links)
    fed: set[str] = set()
    for box in drawing.boxes:
        if box.role is Role.GRADIENTS and box.key in graph:
            fed |= nx.descendants(graph, box.key)
    closed: set[str] = set()
    for box in sorted(drawing.boxes, key=lambda each: len(each.key)):  # scopes before what is in them
        if box.role not in (Role.CONTROL, Role.ASSIGN) or box.key in opened or box.key in closed:
            continue
        inside = [b for b in drawing.boxes if b is box or b.key.startswith(f"{box.key}/")]
        if len(inside) > 1 and any(b.role is Role.ASSIGN and b.key in fed for b in inside):
            closed |= {b.key for b in inside}
            drawing = _closed(drawing, box, inside)
    return drawing


def _closed(drawing: Drawing, box: Box, inside: list[Box]) -> Drawing:
    keys = {b.key for b in inside}
    used: dict[str, set[str]] = {}
    for link in drawing.links:
        used.setdefault(link.source, set()).add(link.target)
    kept = [b for b in drawing.boxes if b.role is Role.VARIABLE and used.get(b.key, {""}) <= keys]
    inside = [*inside, *(b for b in kept if b.key not in keys)]
    slots = {b.key for b in kept}
    updated = {b.of.tensors[0].op.name for b in inside if b.role is Role.ASSIGN} - slots
    name = box.key.rpartition("/")[2]
    lines = [*_numbers(box), f"changes {counted(len(updated), 'variable')}"]
    made = replace(
        box,
        path=box.path[:-1] if box.path and box.path[-1] == name else box.path,
        title=name,
        role=Role.OPTIMIZER,
        lines=tuple(lines),
        tooltip=f"{box.tooltip}\n{counted(len(inside) - len(kept), 'operation')}, "
        f"{counted(len(kept), 'variable')} of its own",
        fetched=any(b.fetched for b in inside),
    )
    found = drawing.quotient({b.key: box.key for b in inside if b is not box}, {box.key: made})
    # What it changes, its box tells; the order in which it does so is its own affair.
    links = [link for link in found.links if link.target != box.key or link.flow is not Flow.REFERENCE]
    return found.with_parts(found.boxes, links)


def _numbers(box: Box) -> list[str]:
    """`learning_rate = 0.001`, and others, as far as they are constants."""
    graph, found = box.of.graph, []
    operations = {op.name: op for op in graph.get_operations()}
    for name in _NUMBERS:
        op = operations.get(f"{box.key}/{name}")
        if op is not None and op.definition.name == "constant":
            found.append(f"{name.replace('_', ' ')} {value_text(op.attrs['value'].array)}")
    return found
