"""Makes a drawing small enough to be looked at: closes scopes until few boxes are left, and merges links.

The result is the quotient of the graph by "drawn in the same box": each folded box says how many operations
it holds, and links between the same two boxes are one link. Scopes are a tree, whose nodes fold.

Long rows of things are made short: repetitions become one box, and so does what one line of the program made.
What is still too long is cut into runs. All three fold neighbours in the order of construction. An operation
only uses what was made before it, so arrows between such intervals all point forwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import accumulate, groupby

import networkx as nx

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Box, Drawing, Flow, Link, Path, Region, Role, Work
from staticgraph.draw.wording import amount, chosen, counted, shorten, stem

_TITLE = 34  # characters of the title of a folded scope


@dataclass(eq=False, slots=True)
class Scope:
    """Boxes and scopes, in order of construction. With a role in `folded` it is always drawn as one box."""

    path: Path
    items: list[Item] = field(default_factory=list)
    work: Work = Work.SCOPE
    title: str = ""
    tooltip: str = ""
    folded: Role | None = None
    lines: tuple[str, ...] = ()

    @property
    def boxes(self) -> Iterator[Box]:
        """All boxes in it, however deep."""
        for item in self.items:
            if isinstance(item, Box):
                yield item
            else:
                yield from item.boxes


Item = Box | Scope


def tree_of(drawing: Drawing) -> Scope:
    """The root of the scopes of `drawing`. A scope around one thing is left out: the thing gets its name."""
    root = Scope(())
    scopes: dict[Path, Scope] = {(): root}
    for box in drawing.boxes:
        for depth in range(1, len(box.path) + 1):
            path = box.path[:depth]
            if path not in scopes:
                region = drawing.region(path)
                scopes[path] = Scope(path, work=region.work, title=region.title, tooltip=region.tooltip)
                scopes[path[:-1]].items.append(scopes[path])
        scopes[box.path].items.append(box)
    return _joined(root)


def _joined(scope: Scope) -> Scope:
    items: list[Item] = []
    for item in scope.items:
        if isinstance(item, Scope):
            item = _joined(item)
            if len(item.items) == 1 and item.work is Work.SCOPE:
                only = item.items[0]
                if isinstance(only, Box) or only.work is Work.SCOPE:
                    only = replace(only, title=f"{item.title}/{only.title}")
                item = only
        items.append(item)
    scope.items = items
    return scope


def kind_of(item: Item) -> tuple[object, ...]:
    """Return a key that is equal for items that look alike."""
    if isinstance(item, Box):
        return (item.role, item.kind)
    return (stem(item.title), *inside_of(item))


def inside_of(scope: Scope) -> tuple[object, ...]:
    """Return a key that is equal for scopes with the same contents, whatever their names."""
    return (scope.work, frozenset(Counter((b.role, b.kind) for b in scope.boxes).items()))


def as_box(scope: Scope, path: Path) -> Box:
    """A scope as one box, in the scope `path`."""
    boxes = list(scope.boxes)
    places = list(dict.fromkeys(b.place for b in boxes if b.place))
    tooltip = [scope.tooltip or "/".join(scope.path) or scope.title, _summary(boxes)]
    tooltip += [f"made at {', '.join(places[:6])}{', …' if len(places) > 6 else ''}"] if places else []
    return Box(
        key=f"{boxes[0].key} … {boxes[-1].key}",
        path=path,
        title=_brief_title(scope.title),
        role=scope.folded or Role.HIDDEN,
        order=boxes[0].order,
        lines=scope.lines or _lines(scope, boxes),
        tooltip="\n".join(tooltip),
        place=", ".join(places[:2]),
        fetched=any(b.fetched for b in boxes),
        in_place=any(b.in_place for b in boxes),
        work=scope.work,
        parameters=sum(b.parameters for b in boxes),
    )


def _brief_title(title: str) -> str:
    """Shorten a title, that of a kernel by leaving out some of its operations."""
    head, colon, computed = title.partition(": ")
    if colon and len(title) > _TITLE:
        title = f"{head}: {chosen(computed.split(' + '), ' + ', _TITLE - len(head) - 2)}"
    return shorten(title, _TITLE)


def _lines(scope: Scope, boxes: list[Box]) -> tuple[str, ...]:
    parameters = sum(box.parameters for box in boxes)
    lines = [contents(boxes), *([f"{amount(parameters)} parameters"] if parameters else [])]
    if scope.work is not Work.SCOPE:
        ops = dict.fromkeys(b.title for b in boxes if b.role is not Role.VARIABLE)
        lines = [shorten(chosen([*ops]))]
    if any(b.in_place for b in boxes):
        lines.append("in place")
    return tuple(lines)


def contents(boxes: Iterable[Box]) -> str:
    """`12 ops, 2 variables`."""
    roles = Counter(b.role is Role.VARIABLE for b in boxes)
    parts = [counted(roles[is_variable], what) for is_variable, what in ((False, "op"), (True, "variable"))]
    return ", ".join(part for part in parts if not part.startswith("0 "))


def _summary(boxes: list[Box]) -> str:
    """The most frequent kinds of operations, for a tooltip."""
    counts = Counter((b.kind or b.title).partition(" ")[0] for b in boxes).most_common(8)
    return ", ".join(f"{n} × {kind}" if n > 1 else kind for kind, n in counts)


# Part of the boxes that may be drawn up to which scopes are opened: fewer where each box has many arrows.
OPENED, OPENED_IN_A_STEP = 0.6, 0.3


def fold(drawing: Drawing, most: int | None, depth: int | None = None, opened: float = OPENED) -> Drawing:
    """`drawing` with at most about `most` boxes, and with scopes nested more than `depth` deep closed.

    None: no limit. Scopes are opened as long as at most the part `opened` of `most` boxes is drawn.
    """
    root = tree_of(drawing)
    if most is not None:
        shortened(root, drawing.links, most)
    shown = _opened(root, None if most is None else most * opened, depth)
    boxes: list[Box] = []
    regions: dict[Path, Region] = {}
    home: dict[str, str] = {}
    _draw(root, (), shown, boxes, regions, home)
    links = merged(drawing.links, home)
    return Drawing((), (), drawing.title, regions, drawing.notes).with_parts(boxes, links)


def _opened(root: Scope, most: float | None, depth: int | None) -> set[Scope]:
    """The scopes to show from inside, outer ones first. Those that look alike are opened together."""
    opened = {root}
    drawn = len(root.items)
    level = 1
    frontier = [root]
    while frontier and (depth is None or level <= depth):
        alike: dict[object, list[Scope]] = {}
        for scope in frontier:
            for item in scope.items:
                if isinstance(item, Scope) and item.folded is None:
                    alike.setdefault(inside_of(item), []).append(item)
        frontier = []
        for scopes in sorted(alike.values(), key=lambda each: sum(len(s.items) for s in each)):
            more = sum(len(s.items) - 1 for s in scopes)
            if most is None or drawn + more <= most:
                drawn += more
                opened.update(scopes)
                frontier += scopes
        level += 1
    return opened


def _draw(
    scope: Scope,
    path: Path,
    opened: set[Scope],
    boxes: list[Box],
    regions: dict[Path, Region],
    home: dict[str, str],
) -> None:
    for item in scope.items:
        match item:
            case Box():
                boxes.append(replace(item, path=path))
                home[item.key] = item.key
            case Scope() if item in opened:
                inner = (*path, f"{item.title} {next(item.boxes).key}")  # two scopes may have one title
                regions[inner] = Region(item.title, item.work, item.tooltip or "/".join(item.path))
                _draw(item, inner, opened, boxes, regions, home)
            case _:
                box = as_box(item, path)
                boxes.append(box)
                home.update(dict.fromkeys((b.key for b in item.boxes), box.key))


def merged(links: Sequence[Link], home: Mapping[str, str]) -> Iterator[Link]:
    """`links` between the boxes in which their ends are drawn: one per pair of boxes and kind of link."""
    quotient = nx.MultiDiGraph()
    for link in links:
        source, target = home[link.source], home[link.target]
        if source != target:
            if not quotient.has_edge(source, target, link.flow):
                quotient.add_edge(source, target, link.flow, tensors={})
            quotient.edges[source, target, link.flow]["tensors"].setdefault(link.tensor, link)
    for source, target, flow in [e for e in quotient.edges(keys=True) if e[2] is Flow.CONTROL]:
        data = quotient.edges[source, target, flow]
        quotient.remove_edge(source, target, flow)
        if not nx.has_path(quotient, source, target):  # otherwise the order follows from other links
            quotient.add_edge(source, target, flow, **data)
    for source, target, flow, data in quotient.edges(keys=True, data=True):
        yield _one(source, target, flow, list(data["tensors"].values()))


def _one(source: str, target: str, flow: Flow, links: list[Link]) -> Link:
    if len(links) == 1:
        text = links[0].text
    elif flow is not Flow.DATA:
        text = ""
    else:
        texts = {link.text for link in links}
        text = f"{len(links)} × {texts.pop()}" if len(texts) == 1 else f"{len(links)} tensors"
        text = text if any(link.text for link in links) else ""
    tips = [link.tooltip for link in links[:8]]
    if len(links) > 8:
        tips.append(f"and {len(links) - 8} more")
    return Link(source, target, "", text, "\n".join(tips), flow, len(links))


REPEATS = 10  # fewer repetitions than this are all shown
LONGEST_PERIOD = 48  # items
RUNS = 24  # what a row that does not repeat is cut into


def shortened(scope: Scope, links: Sequence[Link], most: int, runs: int = RUNS) -> None:
    """Fold repetitions in `scope` and below it, and cut rows of more than `most` items into `runs`."""
    scope.items = _without_repeats(scope)
    if len(scope.items) > most:
        by_line = _by_line(scope)
        largest = max((len(item.items) for item in by_line if isinstance(item, Scope)), default=0)
        if len(by_line) <= most and 2 * largest <= len(scope.items):  # a loop of one line would say nothing
            scope.items = by_line
    for item in scope.items:
        if isinstance(item, Scope) and item.folded is None:
            shortened(item, links, most, runs)
    if runs and len(scope.items) > most:
        scope.items = cut(scope, links, min(runs, most))


def _without_repeats(scope: Scope) -> list[Item]:
    """The items, of a long repetition only the first two rounds, a box for the others, and the last round."""
    items = scope.items
    numbers: dict[object, int] = {}
    kinds = [numbers.setdefault(kind_of(item), len(numbers)) for item in items]
    equal = _equal_ahead(kinds)
    out: list[Item] = []
    at = 0
    while at < len(items):
        period, rounds = next(
            ((p, r) for p, ahead in enumerate(equal, 1) if (r := (ahead[at] + p) // p) >= REPEATS), (1, 1)
        )
        if rounds == 1:
            out.append(items[at])
            at += 1
            continue
        end = at + period * rounds
        first, last = at + 2 * period, end - period
        out += [*items[at:first], _repetition(scope, items[first:last], period), *items[last:end]]
        at = end
    return out


def _equal_ahead(kinds: Sequence[int]) -> list[list[int]]:
    """For each period p: at each position, how many items in a row equal the one that stands p further."""
    size, out = len(kinds), []
    for period in range(1, min(LONGEST_PERIOD, size // REPEATS) + 1):
        ahead = [0] * (size + 1)
        for at in range(size - period - 1, -1, -1):
            ahead[at] = ahead[at + 1] + 1 if kinds[at] == kinds[at + period] else 0
        out.append(ahead)
    return out


def _repetition(scope: Scope, items: list[Item], period: int) -> Scope:
    made = Scope(scope.path, items, title=_span(items), folded=Role.REPEATS)
    one = items[:period]
    words = dict.fromkeys(_word(i) for i in one if isinstance(i, Scope) or i.role is not Role.VARIABLE)
    rounds = len(items) // period
    scopes = [item for item in one if isinstance(item, Scope)]
    kernels = sum(item.work is not Work.SCOPE for item in scopes)
    if len(one) == 1 and scopes and not kernels:
        what = contents(scopes[0].boxes)
    elif kernels:
        what = counted(kernels, "kernel")
    else:
        what = shorten(", ".join(words) or "variable")
    made.lines = (f"{rounds:,} × ({what})", contents(made.boxes))
    made.work = _work(items)
    return made


def _word(item: Item) -> str:
    return (item.kind.partition(" ")[0] or item.title) if isinstance(item, Box) else stem(item.title)


def _work(items: Sequence[Item]) -> Work:
    """The kind of kernel that the items are, where they are of one kind."""
    works = {item.work for item in items}
    return works.pop() if len(works) == 1 else Work.SCOPE


def _span(items: Sequence[Item]) -> str:
    return " … ".join(shorten(_brief(item), 18) for item in (items[0], items[-1]))


def _brief(item: Item) -> str:
    # A kernel's title has its kind after a colon.
    return item.title if item.work is Work.SCOPE else item.title.partition(":")[0]


def _by_line(scope: Scope) -> list[Item]:
    """The items with a scope around neighbours that one line of the user's program made."""
    out: list[Item] = []
    for place, group in groupby(scope.items, key=lambda item: item.place if isinstance(item, Box) else ""):
        part = list(group)
        if not place or len(part) == 1:
            out += part
            continue
        source = part[0].source if isinstance(part[0], Box) else ""
        made = Scope(scope.path, part, title=place, tooltip=f"{place}\n    {source}", folded=Role.HIDDEN)
        made.lines = (*((shorten(source, 40),) if source else ()), contents(made.boxes))
        out.append(made)
    return out


def cut(scope: Scope, links: Sequence[Link], runs: int) -> list[Item]:
    """The items in so many runs, cut where few tensors pass from one side to the other."""
    items = scope.items
    crossing = _crossing(items, links)
    size = len(items) / runs
    out: list[Item] = []
    start = 0
    for number in range(1, runs + 1):
        target = round(number * size)
        slack = int(size / 3)
        near = range(max(start + 1, target - slack), min(len(items) - 1, target + slack) + 1)
        end = min(near, key=lambda at, t=target: (crossing[at], abs(at - t)), default=target)  # type: ignore[misc]
        end = len(items) if number == runs else end
        part = items[start:end]
        if len(part) == 1:
            out += part
        elif part:
            run = Scope(scope.path, part, title=_span(part), folded=Role.HIDDEN)
            run.work = _work(part)
            places = {box.place for box in run.boxes}
            run.lines = (contents(run.boxes), *(places if len(places) == 1 else ()))
            out.append(run)
        start = max(end, start)
    return out


def _crossing(items: Sequence[Item], links: Sequence[Link]) -> list[int]:
    """For each position, how many links lead from before it to behind it."""
    position = {}
    for i, item in enumerate(items):
        for box in (item,) if isinstance(item, Box) else item.boxes:
            position[box.key] = i
    change = [0] * (len(items) + 1)
    for link in links:
        a, b = position.get(link.source), position.get(link.target)
        if a is not None and b is not None and a != b:
            change[min(a, b) + 1] += 1
            change[max(a, b) + 1 if max(a, b) + 1 <= len(items) else len(items)] -= 1
    return list(accumulate(change))
