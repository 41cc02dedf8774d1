"""Layers, losses and optimizers as one box each: what one line of the program made, by its name there.

What an optimizer keeps, computes and assigns is no part of the model. Variables, inputs and constants are
read without arrows: they stand inside the boxes of readers, or as stubs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import networkx as nx

from staticgraph.compiler.graph.opdef import Effect
from staticgraph.draw.model import Box, Drawing, Flow, Link, Path, Role
from staticgraph.draw.wording import WIDTH, counted, stem, value_text

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
        changed[last.key] = _closed_call(path, boxes, last)
    made = drawing.quotient(home, changed)
    # An update that runs after or before a call is a matter of its inside.
    links = [
        ln for ln in made.links if ln.flow is not Flow.CONTROL or not {ln.source, ln.target} & changed.keys()
    ]
    return made.with_parts(made.boxes, links)


def _exchanges(boxes: list[Box]) -> list[Box]:
    return [box for box in boxes if box.role is Role.OP and box.of.definition.effect is Effect.EXCHANGE]


def _closed_call(path: Path, boxes: list[Box], last: Box) -> Box:
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
            drawing = _closed_optimizer(drawing, box, inside)
    return drawing


def _closed_optimizer(drawing: Drawing, box: Box, inside: list[Box]) -> Drawing:
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
