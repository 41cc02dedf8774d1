"""Equal blocks in a row drawn once, `block0 … block11 × 12`, with dashed arrows from each to the next."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Box, Drawing, Flow, Link, Path, Region, Work
from staticgraph.draw.wording import stem

_ROUNDS = 3  # fewer equal blocks than this are all shown
_LONGEST_PERIOD = 6  # scopes and boxes of a block


@dataclass(frozen=True, slots=True)
class _Item:
    """A box, or a scope with all that is in it."""

    title: str
    boxes: tuple[Box, ...]
    is_scope: bool


def with_blocks_once(drawing: Drawing, opened: Collection[str] = ()) -> Drawing:
    """Return a drawing with one of each row of three equal blocks or more. None of those in `opened`."""
    waiting: list[Path] = [()]
    while waiting:
        path = waiting.pop()
        items = [item for item in _items(drawing, path) if "/".join((*path, item.title)) not in opened]
        for rounds in _repetitions(items, drawing.leaving) if len(items) >= _ROUNDS else ():
            drawing = _once(drawing, path, rounds)
        waiting += [(*path, item.title) for item in _items(drawing, path) if item.is_scope]
    return drawing


def _items(drawing: Drawing, path: Path) -> list[_Item]:
    """The boxes and scopes right inside of a scope, in order."""
    depth = len(path)
    found: dict[str, list[Box]] = {}
    scopes: set[str] = set()
    for box in drawing.boxes:
        if box.path[:depth] == path:
            is_scope = len(box.path) > depth
            key = box.path[depth] if is_scope else f"\0{box.key}"
            found.setdefault(key, []).append(box)
            if is_scope:
                scopes.add(key)
    return [
        _Item(key if key in scopes else boxes[0].title, tuple(boxes), key in scopes)
        for key, boxes in found.items()
    ]


def _repetitions(items: list[_Item], links: Mapping[str, list[Link]]) -> Iterator[list[list[_Item]]]:
    """Rows of equal blocks: each is a list of rounds, and a round a list of items."""
    looks = [_look(item, links) for item in items]
    at = 0
    while at < len(items):
        for period in range(1, _LONGEST_PERIOD + 1):
            part = items[at : at + period]
            if len(part) < period or not any(item.is_scope or item.boxes[0].weights for item in part):
                continue  # uncounted: a chain of operations would be gone through from each of them
            rounds = 1
            while looks[at : at + period] == looks[at + rounds * period : at + (rounds + 1) * period]:
                rounds += 1
            if rounds >= _ROUNDS:
                yield [items[at + n * period : at + (n + 1) * period] for n in range(rounds)]
                at += rounds * period
                break
        else:
            at += 1


def _look(item: _Item, links: Mapping[str, list[Link]]) -> object:
    """Return a key that is equal for items that would be drawn alike, but for numbers in their names."""
    place = {box.key: n for n, box in enumerate(item.boxes)}
    boxes = [
        (b.role, b.kind, stem(b.title), b.lines, b.weights, b.fetched, tuple(map(stem, b.path)))
        for b in item.boxes
    ]
    inner = {
        (place[link.source], place[link.target], link.flow, link.text)
        for box in item.boxes
        for link in links.get(box.key, ())
        if link.target in place
    }
    return item.is_scope, boxes, inner


def _by_number(first: str, last: str) -> tuple[str, str]:
    """Two names with the lower number first: kernels run in an order of their own."""
    numbers = [[int(digits) for digits in re.findall(r"\d+", name)] for name in (first, last)]
    return (first, last) if numbers[0] <= numbers[1] else (last, first)


def _once(drawing: Drawing, path: Path, rounds: list[list[_Item]]) -> Drawing:
    """Leave the first of equal rounds."""
    order = [[box for item in each for box in item.boxes] for each in rounds]
    turn = {box.key: n for n, each in enumerate(order) for box in each}
    home = {box.key: first.key for each in order for first, box in zip(order[0], each, strict=True)}
    count = len(rounds)
    name, last = _by_number(rounds[0][0].title, rounds[-1][-1].title)
    heading = f"{name} … {last} × {count}"
    regions, changed = dict(drawing.regions), {}
    if len(order[0]) == 1:
        [box] = order[0]
        told = (*box.lines, f"{count} in a row")
        changed[box.key] = replace(
            box, title=f"{name} … {last}", lines=told, parameters=box.parameters * count
        )
    else:
        around = (*path, heading)
        regions[around] = Region(heading, Work.SCOPE, f"{count} equal parts")
        for item in rounds[0]:
            for box in item.boxes:
                inside = box.path[len(path) :]
                if len(rounds[0]) == 1 and item.is_scope:
                    inside = inside[1:]  # the frame of the row is its frame
                moved = (*around, *inside)
                for depth in range(len(inside)):  # kernels look as they did
                    if (look := drawing.regions.get(box.path[: len(box.path) - depth])) is not None:
                        regions[moved[: len(moved) - depth]] = look
                changed[box.key] = replace(box, path=moved, parameters=box.parameters * count)
    links: list[Link] = []
    known: set[object] = set()
    for link in drawing.links:
        source, target = home.get(link.source, link.source), home.get(link.target, link.target)
        here, there = turn.get(link.source), turn.get(link.target)
        flow = link.flow
        if here is not None and there is not None and here != there:
            if flow is not Flow.DATA or len(order[0]) == 1:
                continue
            flow = Flow.NEXT
        made = replace(link, source=source, target=target, flow=flow)
        again = bool(here or there)  # the first round has told it, if it is there too
        if not (again and (source, target, flow) in known):
            links.append(made)
        known.add((source, target, flow))
    boxes = [changed.get(box.key, box) for box in drawing.boxes if home.get(box.key, box.key) == box.key]
    return replace(drawing.with_parts(boxes, links), regions=regions)
