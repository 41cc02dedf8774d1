"""Operations that the model needs of its training, drawn in the model.

The compiler computes once what the model and its gradients both need, such as a mean in another shape, and
may say of it that it comes from the gradients. In their box it would send an arrow back to each layer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import takewhile

from staticgraph.draw.model import Box, Drawing, Flow, Path, Region, Work


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
