"""Intervals that integers lie in, as far as the ops that compute them tell.

    argmax(x, axis=1), x: float32[8, 10]   ->  [0, 9]
    minimum(n, 99)                         ->  [the least of n's dtype, 99]
    i in `while i < 20: i = i + 1`         ->  [0, 19], if it begins with 0
    range(n), n an open size               ->  [0, n - 1]

The ends are compared only if the answer is the same for all values of open sizes: a guard would be another
program, and what is not proven is looked at in a run.

A run in which an index is out of range is refused, so that the value of `gather` is an element of its input.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import reduce

from staticgraph.compiler.graph.function import Function, Node, Value
from staticgraph.compiler.graph.shapes import normalize_axes
from staticgraph.compiler.graph.sizes import AnySize, Size, bounds, positive, proven, same
from staticgraph.compiler.passes.trip_count import conjuncts, plain, step_of

Interval = tuple[AnySize, AnySize]  # the least and the greatest

# Ops whose elements are elements of some of their inputs, by the positions of these; None: of all.
# fmt: off
_MOVES: dict[str, tuple[int, ...] | None] = {
    "broadcast_to": (0,), "concat": None, "expand_dims": (0,), "fill": (0,), "gather": (0,),
    "gather_nd": (0,), "identity": (0,), "pick": (0,), "read_variable": (0,),
    "reduce_max": (0,), "reduce_min": (0,), "reshape": (0,), "reverse": (0,), "reverse_sequence": (0,),
    "select": (1, 2), "select_rows": (1, 2), "slice": (0,), "split": (0,), "split_v": (0,), "squeeze": (0,),
    "stack": None, "stop_gradient": (0,), "strided_slice": (0,), "tile": (0,), "transpose": (0,),
    "unstack": (0,), "watch": (0,),
}
# fmt: on
_EXTREMES = ("reduce_max", "reduce_min")  # of no elements they are the least and the greatest number there is
# Ops that give positions along an axis of their first input, by the number of the output that does.
_POSITIONS = {"argmax": 0, "argmin": 0, "top_k": 1}
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
        return found if found is not None and is_inside(found, *whole) else whole

    def _computed(self, value: Value) -> Interval | None:
        """Return what the op of a value tells, perhaps beyond what the dtype holds; None if nothing."""
        node = value.node
        name = node.op.name
        given = [self.known[v] for v in _read(value)]
        if (array := value.constant) is not None:
            return (int(array.min()), int(array.max())) if array.size else (0, 0)
        if name in _POSITIONS and value.index == _POSITIONS[name]:
            shape = node.inputs[0].shape
            axis = node.attrs.get("axis", -1)
            count = shape[axis or 0] if name != "top_k" else shape[-1]
            return 0, positive(count) - 1
        match name, given:
            case "minimum", [a, b]:
                return _least(a[0], b[0]), _one(operator.le, a[1], b[1])
            case "maximum", [a, b]:
                return _one(operator.ge, a[0], b[0]), _greatest(a[1], b[1])
            case "add", [a, b]:
                return a[0] + b[0], a[1] + b[1]
            case "subtract", [a, b]:
                return a[0] - b[1], a[1] - b[0]
            case "multiply", [a, b]:
                ends = [x * y for x in a for y in b]
                return _least(*ends), _greatest(*ends)
            case "floormod", [_, b] if proven(operator.gt, b[0], 0):
                return 0, b[1] - 1
            case "floor_div", [a, b] if proven(operator.gt, b[0], 0):
                ends = [x // y for x in a for y in numbers(b)]
                return _least(*ends), _greatest(*ends)
            case "cast", [a]:
                return a
            case "range", _:
                start, limit, delta = (node.attrs[name] for name in ("start", "limit", "delta"))
                if isinstance(delta, Size):
                    return None
                return (start, limit - 1) if delta > 0 else (limit + 1, start)
            case "multinomial" | "stateless_multinomial", _:
                return 0, next(v for v in node.inputs if v.dtype.is_floating).shape[-1] - 1
            case "branch", _:
                return self._of_branch(value)
        if name in _MOVES and given and not any(same(v.size, 0) for v in node.inputs):
            return None if name in _EXTREMES and _may_be_of_none(node) else _union(given)
        return None

    def _of_branch(self, value: Value) -> Interval:
        node = value.node
        found = []
        for each in node.attrs["branches"]:
            inside = Intervals(self.captured(each.params, node.inputs[1:]))
            found.append(inside.of(each.results[value.index]))
        return _union(found)

    def captured(self, params: Iterable[Value], inputs: Iterable[Value]) -> dict[Value, Interval]:
        """Return the intervals of the params of a loop or branch that stand for `inputs`."""
        return {p: numbers(self.of(v)) for p, v in zip(params, inputs, strict=True) if _counts(v)}

    def in_body(self, loop: Node) -> dict[Value, Interval]:
        """Return the intervals of the params of a loop's body, in every iteration."""
        body, count = loop.attrs["body"], loop.attrs["carried"]
        captures = self.captured(body.params[count:], loop.inputs[1 + count :])
        init = self.captured(body.params[:count], loop.inputs[1 : 1 + count])
        guess = {p: _counted(loop, p, first, captures) or first for p, first in init.items()}
        for _ in range(_TRIES):
            inside = Intervals({**captures, **guess})
            after = {p: numbers(inside.of(body.results[1 + body.params.index(p)])) for p in guess}
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
    node = value.node
    if node.op.name in ("loop", "branch", "parameter", "constant"):
        return []
    positions = _MOVES.get(node.op.name)
    inputs = node.inputs if positions is None else [node.inputs[i] for i in positions]
    return [v for v in inputs if _counts(v)]


def _counts(value: Value) -> bool:
    return value.dtype.is_integer or value.dtype.is_bool


def _may_be_of_none(node: Node) -> bool:
    """Return True if a reduction may be over axes without elements."""
    shape = node.inputs[0].shape
    axes = normalize_axes(node.attrs["axis"], len(shape))
    return not all(proven(operator.gt, shape[axis], 0) for axis in axes)


def _of_dtype(value: Value) -> Interval:
    return (int(value.dtype.min), int(value.dtype.max)) if value.dtype.is_integer else (0, 1)


def _union(intervals: Iterable[Interval]) -> Interval:
    return reduce(lambda a, b: (_least(a[0], b[0]), _greatest(a[1], b[1])), intervals)


def is_inside(interval: Interval, least: AnySize | None, greatest: AnySize | None) -> bool:
    """Return True if an interval lies between two ends, both of them inclusive, whatever open sizes are."""
    return (least is None or proven(operator.le, least, interval[0])) and (
        greatest is None or proven(operator.le, interval[1], greatest)
    )


def numbers(interval: Interval) -> tuple[int, int]:
    """Return an interval of numbers that has another in it for all values of open sizes."""
    return bounds(interval[0])[0], bounds(interval[1])[1]


def _least(*ends: AnySize) -> AnySize:
    """Return what none of some sizes is less than."""
    found = (a for a in ends if all(proven(operator.le, a, b) for b in ends))
    return next(found, min(bounds(a)[0] for a in ends))


def _greatest(*ends: AnySize) -> AnySize:
    """Return what none of some sizes is greater than."""
    found = (a for a in ends if all(proven(operator.ge, a, b) for b in ends))
    return next(found, max(bounds(a)[1] for a in ends))


def _one(compare: Callable[[AnySize, AnySize], bool], a: AnySize, b: AnySize) -> AnySize:
    """Return the one of two sizes that compares so with the other, a number if none is proven to."""
    if proven(compare, a, b):
        return a
    return b if proven(compare, b, a) or isinstance(a, Size) else a


def _counted(
    loop: Node, param: Value, first: Interval, captures: Mapping[Value, Interval]
) -> Interval | None:
    """Return the interval of a carried number to which each iteration adds a constant; None for others.

    A counter that may wrap around is one of the others.
    """
    body: Function = loop.attrs["body"]
    result = body.results[1 + body.params.index(param)]
    step = None if param.rank else step_of(plain(result), param)
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
            least, greatest = numbers(inside.of(limit[0]))
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
    left, right = map(plain, condition.node.inputs)
    name = condition.node.op.name
    if left is plain(counter) and name in names:
        return right, names[name]
    if right is plain(counter) and name in mirrored:
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
