"""Capture of loops as nodes of a Function.

A loop is rolled: the condition and the body are performed once, on params that stand for what the loop
carries. If a value changes its shape from one iteration to the next, or a shape depends on the number of the
iteration, the loop is unrolled: one iteration is written after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.capture.rules.host import left_to_python
from staticgraph.compiler.capture.rules.operations import known_trip_count
from staticgraph.compiler.capture.rules.region_walk import RegionState, perform_region
from staticgraph.compiler.capture.step import NeedsFeeds, NeedsStage, Stop
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk
from staticgraph.compiler.graph.dtypes import DType, int32
from staticgraph.compiler.graph.errors import ShapeError, layout
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.lambda_lift import close, depends_on
from staticgraph.compiler.graph.opdef import OPS, ops
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor, acting, around, is_rounds, regions_of
from staticgraph.compiler.passes.trip_count import most_rounds

UNROLLED = 4096  # iterations


def initial_values(op: Operation) -> Sequence[Tensor]:
    """Return the inputs of a loop that it carries; the others are what its regions capture."""
    return op.tensors[: len(op.attrs["body"].params)]


def capture_while(walk: Walk, op: Operation) -> Made:
    """Return the values that a loop leaves, and its trip count."""
    made = _looped(walk, op)
    if isinstance(made, Stop) or op.attrs["back_prop"]:
        return made
    return [ops.stop_gradient(v) if v.dtype.is_differentiable else v for v in made]


def _looped(walk: Walk, op: Operation) -> tuple[Value, ...] | Stop:
    inner = walk.wanted.inner.get(op, ())  # tensors whose values in the last iteration are wanted too
    roots = tuple(t.op for t in inner)
    state = RegionState(
        walk, acting((each for r in regions_of(op) for each in r.operations(roots)), walk.acting)
    )
    if (needs := state.begin()) is not None:
        return needs
    given, before = [walk.value(t) for t in initial_values(op)], state.get()
    made = _rolled(walk, op, state, given, inner)
    if made is not None and not _asks_inside(made, regions_of(op)):
        return made
    state.set(before)
    made = _unrolled(walk, op, given, inner)
    asked = _asks_inside(made, (op.attrs["body"],))
    # A stage can find the greatest trip count of an inner loop. All else may differ between the iterations.
    if asked and not (all(map(is_rounds, asked)) and walk.wanted.overridden.isdisjoint(op.outputs)):
        return left_to_python(walk, op)
    return made


def _asks_inside(made: tuple[Value, ...] | Stop, regions: Sequence[Region]) -> list[Tensor]:
    """Return the tensors that each iteration makes anew, and that an earlier stage would have to compute."""
    tensors = made.tensors if isinstance(made, NeedsStage) else ()
    return [t for t in tensors if any(around(t, region) is not None for region in regions)]


def _unrolled(
    walk: Walk, op: Operation, values: Sequence[Value], inner: Sequence[Tensor]
) -> tuple[Value, ...] | Stop:
    """Return the results of a loop whose iterations differ in their shapes."""
    cond, body = regions_of(op)
    trip_count = known_trip_count(walk, op)
    for count in range(UNROLLED):
        tested = perform_region(walk, cond, values, inner)
        if isinstance(tested, Stop):
            return tested
        (pred,) = tested
        if pred.constant is None and trip_count is None:  # data decide how many iterations there are
            break
        if count == trip_count if trip_count is not None else not pred.constant:
            return (*values, walk.build.constant(count, int32))
        made = perform_region(walk, body, values, inner)
        if isinstance(made, Stop):
            return made
        values = made
    if op.outputs[-1] in walk.feeds.params and trip_count is None:  # Python has done them
        return NeedsFeeds((op.outputs[-1],))
    return left_to_python(walk, op)


def _rolled(
    walk: Walk, op: Operation, state: RegionState, given: Sequence[Value], inner: Sequence[Tensor]
) -> tuple[Value, ...] | Stop | None:
    """Return the results of a loop whose iterations are the same code; None if they are not."""
    cond, body = regions_of(op)
    tested = perform_region(walk, cond, given, inner)
    if isinstance(tested, Stop):
        return tested
    sound = walk.state.sound
    carried = _Carried(walk, [*given, *state.get()])
    state.set(carried.params[len(given) :])
    made = perform_region(walk, body, carried.params[: len(given)], inner)
    if isinstance(made, Stop):
        return made
    if not _keeps_shapes(op, carried.params[: len(given)], made):
        return None
    again = perform_region(walk, cond, made, inner)
    if isinstance(again, Stop):
        return again
    new = [*made, *state.get()]
    new += [carried.last(walk.value(t), is_rounds(t)) for t in inner]
    counted = op in walk.wanted.counted
    if counted:
        new.append(carried.counted())
    checks = (sound, walk.state.sound) if state.checked else None
    results = _loop(walk, op, tested[0], carried, [again[0], *new], checks)
    end = len(given) + len(state.get())
    state.set(results[len(given) : end])
    walk.values.update(zip(inner, results[end:], strict=False))
    trip_count = _power_of_two(results[-1]) if counted else walk.build.constant(0, int32)
    return (*results[: len(given)], trip_count)


def _power_of_two(count: Value) -> Value:
    """Return the smallest power of two that is no less, so that different trip counts share one program."""
    ones = count - 1
    for shift in (1, 2, 4, 8, 16):
        ones = ops.bitwise_or(ones, ops.right_shift(ones, np.int32(shift)))
    return ones + 1


class _Carried:
    """Carried values of a loop: those before the first iteration, and the params of its body for them."""

    def __init__(self, walk: Walk, init: Sequence[Value]) -> None:
        self._build = walk.build
        self.init = list(init)
        self.params = [walk.build.fresh_parameter("carried", v.type) for v in init]

    def last(self, value: Value, greatest: bool) -> Value:
        """Carry a value inside the loop, as in the last iteration, or the greatest of all iterations."""
        param = self._add(np.zeros(value.shape), value.dtype)
        return ops.maximum(param, value) if greatest else value

    def counted(self) -> Value:
        """Carry the number of iterations."""
        return self._add(0, int32) + 1

    def _add(self, init: Any, dtype: DType) -> Value:
        self.init.append(self._build.constant(init, dtype))
        self.params.append(self._build.fresh_parameter("carried", self.init[-1].type))
        return self.params[-1]


def _loop(
    walk: Walk,
    op: Operation,
    pred: Value,
    carried: _Carried,
    results: Sequence[Value],
    checks: tuple[Value, Value] | None,
) -> list[Value]:
    """Return the values after a loop.

    `checks`: if all was sound before the loop, and if all is after an iteration.
    """
    if pred.constant is not None and not pred.constant:
        return carried.init
    bound, exact = most_rounds(carried.init, carried.params, results)
    bound = known_trip_count(walk, op) if bound is None else bound
    if bound is None and checks is not None:  # what is computed of a bad index may never end the loop
        pred, again = (ops.logical_and(*both) for both in zip((pred, results[0]), checks, strict=True))
        results = [again, *results[1:]]
    depends = depends_on(carried.params, results)
    (body,), captured = close(walk.build, carried.params, [results], depends.__contains__)
    attrs = {
        "body": body,
        "carried": len(carried.init),
        "family": walk.build.serial,
        "bound": bound,
        "exact": exact,
        "brief": False,
    }
    walk.loops[walk.build.serial] = op
    return list(walk.build.node(OPS["loop"], (pred, *carried.init, *captured), attrs).outputs)


def _keeps_shapes(op: Operation, params: Sequence[Value], made: Sequence[Value]) -> bool:
    """Return False if an iteration changes the shape of a carried value, which the graph allows.

    Raises ShapeError if the graph does not allow it.
    """
    body = op.attrs["body"]
    for tensor, result, before, after in zip(body.params, body.results, params, made, strict=True):
        if before.type == after.type:
            continue
        if before.dtype is after.dtype and compatible(tensor.type.shape, after.shape):
            return False
        text = f"{op.name}: {tensor.op.name} is {before.type} before a round and {after.type} after it"
        hint = "what a loop carries keeps its shape; where it must grow, say so in shape_invariants"
        raise ShapeError(layout(text, op.where, [("what the body returns", result.op.where)], hint=hint))
    return True


RULES["while_region"] = CaptureRule(capture_while, initial_values)
