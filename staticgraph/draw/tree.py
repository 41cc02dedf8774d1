"""The scopes of a drawing as a tree, in which folding happens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field, replace

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.model import Box, Drawing, Path, Role, Work
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
        title=_brief(scope.title),
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


def _brief(title: str) -> str:
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
