"""Outline of what the compiler made: gradients and optimizers as one box each beside the model.

Operations that the model needs of its training are drawn in the model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile

from staticgraph.compiler.graph.graph import Graph
from staticgraph.draw.model import Box, Drawing, Flow, Link, Path, Region, Role, Work
from staticgraph.draw.outline.blocks import with_blocks_once
from staticgraph.draw.outline.closed import with_stubs
from staticgraph.draw.recorded import gradient_scopes
from staticgraph.draw.wording import counted


def returned_to_readers(drawing: Drawing, scope: Path, training: Collection[Path]) -> Drawing:
    """Return a drawing in which no way leaves a scope and comes back to it.

    Args:
        drawing: What the compiler made of a run.
        scope: A scope of gradients or of an optimizer. An operation or kernel in it that something outside
            reads on which the others depend, goes to the scope of what reads it.
        training: All scopes of gradients and optimizers: readers in the model come before those in these.
    """
    unit = {box.key: _unit(drawing, box, scope) for box in drawing.boxes}
    readers: dict[Path | str, set[Path | str]] = {}
    read: dict[Path | str, set[Path | str]] = {}
    for link in drawing.links:
        if link.flow is Flow.DATA and unit[link.source] != unit[link.target]:
            readers.setdefault(unit[link.source], set()).add(unit[link.target])
            read.setdefault(unit[link.target], set()).add(unit[link.source])
    inside = {unit[box.key] for box in drawing.boxes if box.path[: len(scope)] == scope}
    outside = _reached(inside, read) - inside
    moved = _reached(outside, read) & inside
    if not moved:
        return drawing
    places = {unit[box.key]: _scope(drawing, box.path) for box in drawing.boxes}
    last = {unit[box.key]: box.order for box in drawing.boxes}
    for each in sorted(moved, key=last.__getitem__, reverse=True):  # readers first
        its = [places[reader] for reader in sorted(readers[each] - (inside - moved), key=last.__getitem__)]
        model = [place for place in its if not any(place[: len(t)] == t for t in training)] or its
        places[each] = _common(model) or next(filter(None, model), ())
    return _with_places(drawing, unit, {each: places[each] for each in moved})


def _with_places(drawing: Drawing, unit: dict[str, Path | str], places: dict[Path | str, Path]) -> Drawing:
    """Draw units in other scopes, with the areas that are in them."""
    regions: dict[Path, Region] = dict(drawing.regions)
    paths: dict[str, Path] = {}
    for box in drawing.boxes:
        if (place := places.get(unit[box.key])) is not None:
            start = len(_scope(drawing, box.path))
            path = (*place, *box.path[start:])
            for more in range(1, len(box.path) - start + 1):
                if (region := drawing.regions.get(box.path[: start + more])) is not None:
                    regions[path[: len(place) + more]] = region
            paths[box.key] = path
    boxes = [replace(box, path=paths.get(box.key, box.path)) for box in drawing.boxes]
    return replace(drawing, regions=regions).with_parts(boxes, drawing.links)


def _unit(drawing: Drawing, box: Box, scope: Path) -> Path | str:
    """Return what moves together: a kernel by its path, else a box by its key."""
    start = len(_scope(drawing, box.path))
    is_kernel = len(box.path) > start and drawing.region(box.path[: start + 1]).of is not None
    return box.path[: start + 1] if is_kernel and box.path[: len(scope)] == scope else box.key


def _scope(drawing: Drawing, path: Path) -> Path:
    """Return the part of a path that has the scopes of the user's graph."""
    depths = range(1, len(path) + 1)
    return path[: sum(1 for _ in takewhile(lambda d: drawing.region(path[:d]).work is Work.SCOPE, depths))]


def _common(paths: Iterable[Path]) -> Path:
    levels = zip(*paths, strict=False)
    return tuple(names[0] for names in takewhile(lambda names: len({*names}) == 1, levels))


def _reached(starts: Collection[Path | str], along: dict[Path | str, set[Path | str]]) -> set[Path | str]:
    """Return what can be reached from some units, beside these where no way leads back to them."""
    found: set[Path | str] = set()
    left = list(starts)
    while left:
        for each in along.get(left.pop(), ()):
            if each not in found:
                found.add(each)
                left.append(each)
    return found


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
