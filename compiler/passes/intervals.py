"""Intervals that integers lie in, as far as the ops that compute them tell.

    argmax(x, axis=1), x: float32[8, 10]   ->  [0, 9]
    minimum(n, 99)                         ->  [the least of n's dtype, 99]
    i in `while i < 20: i = i + 1`         ->  [0, 19], if it begins with 0

A run in which an index is out of range is refused, so that the value of `gather` is an element of its input.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.opdef import Kind
from staticgraph.compiler.graph.shapes import normalize_axes
from staticgraph.compiler.graph.sizes import bounds, proven, same
from staticgraph.compiler.passes.trip_count import conjuncts, step_of

Interval = tuple[float, float]  # the least and the greatest

_TRIES = 3  # how often what a loop carries is guessed
_ENDLESS = 1 << 50  # iterations: no loop does as many in a week


class Intervals:
    """The intervals of values.

    Attributes:
        known: Those of params, by param.
    """

    def __init__(self, known: Mapping[Value, Interval] | None = None) -> None:
        self.known = dict(known or {})

    def of(self, value: Value) -> Interval:
        """Return the interval of an integer or a truth value."""
        stack = [value]
        while stack:  # recursion would be as deep as the graph
            each = stack[-1]
            if each in self.known:
                stack.pop()
            elif waiting := [v for v in _read(each) if v not in self.known]:
                stack += waiting
            else:
                self.known[each] = self._of(stack.pop())
        return self.known[value]

    def _of(self, value: Value) -> Interval:
        whole = _of_dtype(value)
        found = self._computed(value)
        if found is None:
            return whole
        least, greatest = bounds(found[0])[0], bounds(found[1])[1]  # numbers: ends are compared
        return (least, greatest) if whole[0] <= least and greatest <= whole[1] else whole

    def _computed(self, value: Value) -> Interval | None:
        """Return what the op of a value tells, perhaps beyond what the dtype holds; None if nothing."""
        node, op = value.node, value.node.op
        if (array := value.constant) is not None:
            return (int(array.min()), int(array.max())) if array.size else (0, 0)
        if op.name == "branch":
            return self._of_branch(value)
        given = [self.known[v] for v in _read(value)]
        if op.interval is not None:
            return op.interval(value, *given)
        if not given or any(same(v.size, 0) for v in node.inputs):
            return None
        return None if op.kind is Kind.REDUCTION and _may_be_of_none(node) else _union(given)

    def _of_branch(self, value: Value) -> Interval:
        node = value.node
        found = []
        for each in node.attrs["branches"]:
            inside = Intervals(self.captured(each.params, node.inputs[1:]))
            found.append(inside.of(each.results[value.index]))
        return _union(found)

    def captured(self, params: Iterable[Value], inputs: Iterable[Value]) -> dict[Value, Interval]:
        """Return the intervals of the params of a loop or branch that stand for `inputs`."""
        return {p: self.of(v) for p, v in zip(params, inputs, strict=True) if _counts(v)}

    def in_body(self, loop: Node) -> dict[Value, Interval]:
        """Return the intervals of the params of a loop's body, in every iteration."""
        body, count = loop.attrs["body"], loop.attrs["carried"]
        captures = self.captured(body.params[count:], loop.inputs[1 + count :])
        init = self.captured(body.params[:count], loop.inputs[1 : 1 + count])
        guess = {p: _counted(loop, p, first, captures) or first for p, first in init.items()}
        for _ in range(_TRIES):
            inside = Intervals({**captures, **guess})
            after = {p: inside.of(body.results[1 + body.params.index(p)]) for p in guess}
            grown = {
                p: guess[p] if _counted(loop, p, init[p], captures) else _union([guess[p], after[p]])
                for p in guess
            }
            if grown == guess:
                return {**captures, **guess}
            guess = grown
        certain = {p: _counted(loop, p, first, captures) for p, first in init.items()}
        return {**captures, **{p: found for p, found in certain.items() if found is not None}}


def _read(value: Value) -> list[Value]:
    """Return the inputs whose intervals tell that of a value."""
    node, op = value.node, value.node.op
    if op.interval is not None or op.elements_of == ():
        inputs: Sequence[Value] = node.inputs
    elif op.alias is not None:
        inputs = [node.inputs[op.alias]]
    else:
        inputs = [node.inputs[i] for i in op.elements_of or ()]
    return [v for v in inputs if _counts(v)]


def _counts(value: Value) -> bool:
    return value.dtype.is_integer or value.dtype.is_bool


def _may_be_of_none(node: Node) -> bool:
    """Return True if a reduction may be over axes without elements: then its result is none of them."""
    shape = node.inputs[0].shape
    axes = normalize_axes(node.attrs["axis"], len(shape))
    return not all(proven(operator.gt, shape[axis], 0) for axis in axes)


def _of_dtype(value: Value) -> Interval:
    return (int(value.dtype.min), int(value.dtype.max)) if value.dtype.is_integer else (0, 1)


def _union(intervals: Iterable[Interval]) -> Interval:
    return reduce(lambda a, b: (min(a[0], b[0]), max(a[1], b[1])), intervals)


def _counted(
    loop: Node, param: Value, first: Interval, captures: Mapping[Value, Interval]
) -> Interval | None:
    """Return the interval of a carried number to which each iteration adds a constant; None for others.

    A counter that may wrap around is one of the others.
    """
    body: Function = loop.attrs["body"]
    result = body.results[1 + body.params.index(param)]
    step = None if param.rank else step_of(result.plain, param)
    if not step:
        return None
    low, high = _of_dtype(param)
    bound = loop.attrs["bound"]
    rounds = _ENDLESS if bound is None else bounds(bound)[1]
    ends = [(first[1] if step > 0 else first[0]) + step * max(rounds - 1, 0)]
    stays = low <= ends[0] <= high
    inside = Intervals(captures)
    for condition in conjuncts(body.results[0]):
        limit = _limit(condition, result, step > 0)
        if limit is not None and _outside(limit[0], body.params[: loop.attrs["carried"]]):
            least, greatest = inside.of(limit[0])
            last = greatest - limit[1] if step > 0 else least + limit[1]
            ends.append(max(last, first[1]) if step > 0 else min(last, first[0]))
            stays |= low <= ends[-1] + step <= high
    if not stays:
        return None
    return (first[0], min(ends)) if step > 0 else (max(ends), first[1])


def _limit(condition: Value, counter: Value, upwards: bool) -> tuple[Value, int] | None:
    """Return what a condition compares a counter with, and 1 if it excludes that."""
    names = {"less": 1, "less_equal": 0} if upwards else {"greater": 1, "greater_equal": 0}
    mirrored = {"greater": 1, "greater_equal": 0} if upwards else {"less": 1, "less_equal": 0}
    if len(condition.node.inputs) != 2:
        return None
    left, right = (v.plain for v in condition.node.inputs)
    name = condition.node.op.name
    if left is counter.plain and name in names:
        return right, names[name]
    if right is counter.plain and name in mirrored:
        return left, mirrored[name]
    return None


def _outside(value: Value, carried: Iterable[Value]) -> bool:
    """Return if a value is the same in all iterations."""
    seen, stack = set(), [value]
    while stack:
        each = stack.pop()
        if each not in seen:
            seen.add(each)
            stack += each.node.inputs
    return seen.isdisjoint(carried)
