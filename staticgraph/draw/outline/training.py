"""Outline of what the compiler made: gradients and optimizers as one box each beside the model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from staticgraph.compiler.graph.graph import Graph
from staticgraph.draw.model import Box, Drawing, Link, Path, Role, Work
from staticgraph.draw.outline.blocks import with_blocks_once
from staticgraph.draw.outline.returned import returned_to_readers
from staticgraph.draw.outline.sources import with_stubs
from staticgraph.draw.recorded import gradient_scopes
from staticgraph.draw.wording import counted

_GIVEN = (Role.INPUT, Role.VARIABLE, Role.CONSTANT, Role.STUB)
_READ = 3  # boxes of the model that a closed box has arrows from, at most
_UPDATE = "/update_"  # TensorFlow's name of what an optimizer does to a variable: `Adam/update_w`


def outlined_step(drawing: Drawing, graph: Graph, opened: Collection[str] = ()) -> Drawing:
    """Return a drawing of what the compiler made, with the training beside the model and equal blocks once.

    Args:
        drawing: All of it.
        graph: The user's graph.
        opened: The names of scopes to be shown from inside.
    """
    drawing = with_training_closed(drawing, graph, opened)
    return with_stubs(with_blocks_once(drawing, opened), (Role.INPUT,))


def with_training_closed(drawing: Drawing, graph: Graph, opened: Collection[str] = ()) -> Drawing:
    """Return a drawing in which each call of `gradients`, and each optimizer, is one box.

    Args:
        drawing: What the compiler made of a run, with the scopes of the user's graph.
        graph: The user's graph.
        opened: The names of scopes to be shown from inside.
    """
    scopes = list(_scopes(graph))
    training = [scope for scope, _ in scopes]
    for scope in training:
        drawing = returned_to_readers(drawing, scope, training)
    home: dict[str, str] = {}
    changed: dict[str, Box] = {}
    for scope, role in scopes:
        inside = [box for box in drawing.boxes if box.path[: len(scope)] == scope and box.key not in home]
        asked = role is Role.GRADIENTS and any(box.fetched for box in inside)
        if len(inside) > 1 and not asked and "/".join(scope) not in opened:
            last = inside[-1]
            home |= {box.key: last.key for box in inside[:-1]}
            changed[last.key] = _closed(drawing, scope, role, inside)
    return _with_few_arrows(drawing.quotient(home, changed), {*changed})


def _with_few_arrows(drawing: Drawing, closed: Collection[str]) -> Drawing:
    """Leave few arrows of what each closed box reads in the model: that from its end, if there are many.

    Nearly everything is kept for the gradients, and each weight is changed: the box tells how many. What
    nothing else reads, such as a schedule of learning rates, keeps its arrow, and so does what is made of
    gradients.
    """
    made = {box.key: box.order for box in drawing.boxes if box.role not in _GIVEN}
    fetched = {box.key for box in drawing.boxes if box.fetched}
    leaving = drawing.leaving
    after = _following(leaving, closed)
    read: dict[str, list[Link]] = {}
    for link in drawing.links:
        if link.target in closed:
            read.setdefault(link.target, []).append(link)
    left: list[Link] = []
    changed: dict[str, Box] = {}
    for box in drawing.boxes:
        links = [link for link in read.get(box.key, []) if link.source not in closed]
        sources = {link.source for link in links}
        model = sources & made.keys()
        if len(sources) > _READ:
            kept = {max(model, key=made.__getitem__, default="")}
        elif len(links) < len(read.get(box.key, [])):  # it follows other parts of the training
            kept = set()
        else:
            kept = set(sources)
        ends = {key for key in model - fetched if all(link.target in closed for link in leaving[key])}
        kept |= ends if len(ends) <= _READ else ends & after
        if told := [link for link in links if link.source not in kept]:
            left += told
            tensors = len({link.tensor for link in links})
            changed[box.key] = replace(box, lines=(*box.lines, f"reads {counted(tensors, 'tensor')}"))
    dropped = {id(link) for link in left}
    links = [link for link in drawing.links if id(link) not in dropped]
    # What only the training reads: a variable is one of the tensors that are told, an input keeps its arrow.
    joined = {key for link in links for key in (link.source, link.target)}
    alone = {link.source for link in left} - joined
    inputs = {box.key for box in drawing.boxes if box.key in alone and box.role is Role.INPUT}
    links += {link.source: link for link in left if link.source in inputs}.values()
    gone = alone - inputs - fetched
    return drawing.with_parts(
        [changed.get(box.key, box) for box in drawing.boxes if box.key not in gone], links
    )


def _following(leaving: Mapping[str, Collection[Link]], boxes: Collection[str]) -> set[str]:
    """Return the keys of what is made of boxes, directly or not."""
    found: set[str] = set()
    stack = [*boxes]
    while stack:
        new = {link.target for link in leaving.get(stack.pop(), ())} - found
        found |= new
        stack += new
    return found


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
