"""Parts of a tensor that are padded with zeros and added up are put side by side.

    pad(a, ((0, 2),)) + pad(b, ((1, 1),)) + pad(c, ((2, 0),))    ->  concat(a, b, c)

That is the derivative of a tensor whose slices are used, such as the steps of a recurrent net that is written
out. The sum of n such parts takes as long as n whole tensors, and their concatenation as long as one.

Parts make a grid, to which one after the other is added while it fits:

    a | 0 | b      along each axis, two parts are at the same place or apart, and no two are at the same place
    0 | c | 0      along all: so the concatenation of rows of cells is the whole

Each element is added up in the same order as before, since one part of a grid alone has it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.graph.opdef import ops, recording
from staticgraph.compiler.graph.sizes import AnySize, is_open, same
from staticgraph.compiler.passes.expand import is_wide, narrowed

Span = tuple[int, int]
Place = tuple[Span | None, ...]  # of a part, along each axis; None: all of the axis
_UNKNOWN = (0, 0)


def side_by_side(function: Function) -> Function:
    """`function` with concatenations of padded parts in place of their sums."""
    uses = Counter(value for node in function.nodes for value in node.inputs)
    uses.update(function.results)
    terms = {v for node in function.nodes if _is_sum(node) for v in node.inputs if uses[v] == 1}
    if sum(_place(value.node) is not None for value in terms) < 2:
        return function  # as most are
    sums: dict[Value, _Sum] = {}  # what a term adds up
    joined = False

    def rebuilt(node: Node, inputs: tuple[Value, ...]) -> Value | tuple[Value, ...]:
        nonlocal joined
        (result, *_) = node.outputs
        build = result.recorder
        with build.at(node.where), recording(build):
            made: tuple[Value, ...] = build.again(node, inputs).outputs
            place = _place(node) if result in terms else None
            if place is not None:
                sums[result] = _Sum(None, _Grid(made[0], place, inputs[0]))
            if not _is_sum(node):
                return made
            a, b = (sums.pop(old, _Sum(new)) for old, new in zip(node.inputs, inputs, strict=True))
            total = a.plus(b)
            if result in terms:
                sums[result] = total
                return made  # which stands for it, and is not needed
            joined = joined or total.joins
            return total.value()

    changed = transform(function, rebuilt)
    return changed if joined else function


class _Grid:
    """Parts of a tensor that do not overlap, and zeros elsewhere. `alone` is the tensor with one part."""

    def __init__(self, alone: Value, place: Place, part: Value) -> None:
        self._alone = alone
        self._parts = {place: part}
        self._spans: list[list[Span]] = [[] if span is None else [span] for span in place]  # in order

    def __len__(self) -> int:
        return len(self._parts)

    def take(self, other: _Grid) -> bool:
        """Add the parts of another grid of the same tensor. Return False if they do not fit."""
        if not all(map(self._fits, other._parts)):
            return False
        self._parts.update(other._parts)
        for known, spans in zip(self._spans, other._spans, strict=True):
            for span in spans:
                at = bisect_left(known, span)
                if known[at : at + 1] != [span]:
                    known.insert(at, span)
        return True

    def _fits(self, place: Place) -> bool:
        if place in self._parts:
            return False
        return all(_fits(span, known) for span, known in zip(place, self._spans, strict=True))

    def value(self) -> Value:
        """The tensor."""
        return self._alone if len(self) == 1 else self._joined(0, self._parts)

    def _joined(self, axis: int, parts: Mapping[Place, Value]) -> Value:
        """The tensor of some parts, which differ from this axis on only."""
        while axis < len(self._spans) and not self._spans[axis]:
            axis += 1
        if axis == len(self._spans):
            (part,) = parts.values()
            return part
        rows: dict[Span, dict[Place, Value]] = {}
        for place, part in parts.items():
            span = place[axis]
            assert span is not None
            rows.setdefault(span, {})[place] = part
        made = {span: self._joined(axis + 1, rows[span]) for span in sorted(rows)}
        return _concatenated(list(self._filled(axis, made)), axis)

    def _filled(self, axis: int, made: Mapping[Span, Value]) -> Iterator[Value]:
        """Yield what is made along an axis, and zeros where nothing is."""
        end = 0
        for (start, stop), value in made.items():
            if start > end:
                yield _zeros(value, axis, start - end)
            yield value
            end = stop
        if self._alone.shape[axis] > end:
            yield _zeros(value, axis, self._alone.shape[axis] - end)


class _Sum:
    """A grid and another value, added up. One of them may be missing.

    `joins`: its value needs fewer additions than it stands for.
    """

    def __init__(self, other: Value | None, grid: _Grid | None = None, joins: bool = False) -> None:
        self._other, self._grid = other, grid
        self.joins = joins or (grid is not None and len(grid) > 1)

    def plus(self, more: _Sum) -> _Sum:
        """Both, added up. Neither is used any more."""
        joins = self.joins or more.joins
        if self._other is not None and more._other is not None:
            return _Sum(ops.add(self.value(), more.value()), None, joins)
        if self._grid is None or more._grid is None or self._grid.take(more._grid):
            return _Sum(self._other if more._other is None else more._other, self._grid or more._grid, joins)
        whole, apart = (self, more) if more._other is None else (more, self)
        return _Sum(whole.value(), apart._grid, joins)

    def value(self) -> Value:
        """The result."""
        if self._grid is None:
            assert self._other is not None
            return self._other
        made = self._grid.value()
        return made if self._other is None else ops.add(self._other, made)


def _is_sum(node: Node) -> bool:
    return node.op.name == "add" and all(v.type == node.outputs[0].type for v in node.inputs)


def _place(node: Node) -> Place | None:
    """Return where the input of a node lies in its result, if it is padded; None if that is not known."""
    if node.op.name != "pad":
        return None
    paddings, sizes = node.attrs["paddings"], node.outputs[0].shape
    place = tuple(map(_span, paddings, node.inputs[0].shape, sizes))
    return None if _UNKNOWN in place or not any(place) else place


def _span(padding: tuple[AnySize, AnySize], size: AnySize, whole: AnySize) -> Span | None:
    """Return where elements lie along an axis, None if there are no others."""
    if all(same(n, 0) for n in padding):
        return None
    before, _ = padding
    if is_open((before, size, whole)) or not size:
        return _UNKNOWN
    return before, before + size


def _fits(span: Span | None, known: Sequence[Span]) -> bool:
    """Return True if a span is one of those known, or apart from all."""
    if span is None:
        return not known
    at = bisect_left(known, span)
    if known[at : at + 1] == [span]:
        return True
    ends_before = not at or known[at - 1][1] <= span[0]
    return bool(known) and ends_before and (at == len(known) or span[1] <= known[at][0])


def _zeros(like: Value, axis: int, count: int) -> Value:
    zero = like.recorder.constant(0, like.dtype)
    return ops.broadcast_to(zero, shape=(*like.shape[:axis], count, *like.shape[axis + 1 :]))


def _concatenated(values: Sequence[Value], axis: int) -> Value:
    if len(values) == 1:
        return values[0]
    made: Value = ops.concat(list(values), axis=axis)
    return narrowed(made.node, values) if is_wide(made.node) else made
