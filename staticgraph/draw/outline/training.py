"""Gradients and optimizers of what the compiler made, as one box each beside the model."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from staticgraph.compiler.graph.graph import Graph
from staticgraph.draw.model import Box, Drawing, Link, Path, Role, Work
from staticgraph.draw.recorded import gradient_scopes
from staticgraph.draw.wording import counted

_GIVEN = (Role.INPUT, Role.VARIABLE, Role.CONSTANT, Role.STUB)
_READ = 3  # boxes of the model that a closed box has arrows from, at most
_UPDATE = "/update_"  # TensorFlow's name of what an optimizer does to a variable: `Adam/update_w`


def with_training_closed(drawing: Drawing, graph: Graph, opened: Collection[str] = ()) -> Drawing:
    """Return a drawing in which each call of `gradients`, and each optimizer, is one box.

    Args:
        drawing: What the compiler made of a run, with the scopes of the user's graph.
        graph: The user's graph.
        opened: The names of scopes to be shown from inside.
    """
    home: dict[str, str] = {}
    changed: dict[str, Box] = {}
    for scope, role in _scopes(graph):
        inside = [box for box in drawing.boxes if box.path[: len(scope)] == scope and box.key not in home]
        asked = role is Role.GRADIENTS and any(box.fetched for box in inside)
        if len(inside) > 1 and not asked and "/".join(scope) not in opened:
            last = inside[-1]
            home |= {box.key: last.key for box in inside[:-1]}
            changed[last.key] = _closed(drawing, scope, role, inside)
    return _with_one_arrow(drawing.quotient(home, changed), {*changed})


def _with_one_arrow(drawing: Drawing, closed: Collection[str]) -> Drawing:
    """Leave one arrow of what each closed box reads in the model, if there are many: that from its end.

    Nearly everything is kept for the gradients, and each weight is changed: the box tells how many.
    """
    made = {box.key: box.order for box in drawing.boxes if box.role not in _GIVEN}
    read: dict[str, list[Link]] = {}
    for link in drawing.links:
        if link.target in closed and link.source not in closed:
            read.setdefault(link.target, []).append(link)
    left: list[Link] = []
    changed: dict[str, Box] = {}
    for box in drawing.boxes:
        links = read.get(box.key, [])
        if len({link.source for link in links}) > _READ:
            last = max(
                (link.source for link in links if link.source in made), key=made.__getitem__, default=""
            )
            left += [link for link in links if link.source != last]
            tensors = len({link.tensor for link in links})
            changed[box.key] = replace(box, lines=(*box.lines, f"reads {counted(tensors, 'tensor')}"))
    dropped = {id(link) for link in left}
    links = [link for link in drawing.links if id(link) not in dropped]
    return drawing.with_parts([changed.get(box.key, box) for box in drawing.boxes], links)


def _scopes(graph: Graph) -> Iterator[tuple[Path, Role]]:
    operations = graph.get_operations()
    optimizers = {op.name.partition(_UPDATE)[0] for op in operations if _UPDATE in op.name}
    yield from ((tuple(name.split("/")), Role.OPTIMIZER) for name in sorted(optimizers))
    yield from ((scope, Role.GRADIENTS) for scope in sorted(gradient_scopes(operations) | {("gradients",)}))


def _closed(drawing: Drawing, scope: Path, role: Role, inside: list[Box]) -> Box:
    kernels = {
        path
        for box in inside
        for path in (box.path[:depth] for depth in range(len(scope) + 1, len(box.path) + 1))
        if drawing.region(path).work is not Work.SCOPE
    }
    return Box(
        inside[-1].key,
        scope[:-1],
        scope[-1],
        role,
        inside[-1].order,
        (counted(len(kernels), "kernel") if kernels else counted(len(inside), "op"),),
        "\n".join(["/".join(scope), counted(len(inside), "operation")]),
        kind=scope[-1],
        fetched=any(box.fetched for box in inside),
    )
