"""Loops and branches of the user's graph as nodes of a Function.

The operations of a region are performed like all others, on stand-ins for what a loop carries; what comes of
it is cut out as a Function of its own. A loop also carries what its operations change: the variables that
they assign to, the states of random ops, the order of effects, and if all that ops require has held so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.capture.needed import HostNeeded, StaticFeedNeeded, ValueNeeded
from staticgraph.compiler.capture.state import CaptureState
from staticgraph.compiler.graph.dtypes import DType, int32
from staticgraph.compiler.graph.errors import ShapeError, UnimplementedError, layout
from staticgraph.compiler.graph.function import Value, substitute
from staticgraph.compiler.graph.lambda_lift import close, depends_on
from staticgraph.compiler.graph.opdef import OPS, Effect
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor
from staticgraph.compiler.ops.control_flow import taken
from staticgraph.compiler.ops.structural import variable_of
from staticgraph.compiler.passes.trip_count import most_rounds

UNROLLED = 4096  # rounds


class ShapeChanges(Exception):
    """A value that a loop carries changes its shape in an iteration, so iterations cannot share code."""


def regions_of(op: Operation) -> tuple[Region, ...]:
    """Return the regions that are carried out as a part of an operation."""
    match op.definition.name:
        case "while_region":
            return op.attrs["cond"], op.attrs["body"]
        case "branch_region":
            return tuple(op.attrs["branches"])
    return ()


def held_regions(op: Operation) -> tuple[Region, ...]:
    """Return all regions that belong to an operation, also those that only its gradient carries out."""
    if op.definition.name == "custom_gradient" and op.attrs["derivative"] is not None:
        return (op.attrs["derivative"],)
    return regions_of(op)


def with_inner(operations: Iterable[Operation]) -> list[Operation]:
    """`operations`, and those in their regions at any depth."""
    found = []
    for op in operations:
        found.append(op)
        for region in regions_of(op):
            found += with_inner(region.operations())
    return found


def whole(operations: Iterable[Operation]) -> list[Operation]:
    """`operations` and all that is in their regions, even params that nothing uses, as they were made."""
    return sorted(_all_inside(operations), key=lambda op: op.id)


def _all_inside(operations: Iterable[Operation]) -> set[Operation]:
    found = set(operations)
    for op in list(found):
        for region in held_regions(op):
            found |= _all_inside(region.operations(tuple(p.op for p in region.params)))
    return found


def around(tensor: Tensor, region: Region | None) -> Operation | None:
    """The operation of `region` that computes `tensor`, or that it is a part of; None where it is outside."""
    op: Operation | None = tensor.op
    while op is not None and op.region is not region:
        op = None if op.region is None else op.region.owner
    return op


def outermost(tensor: Tensor, region: Region | None = None) -> Operation:
    """The operation outside of all regions, or in `region`, that `tensor` is computed by, or as a part of.

    A tensor from outside of `region` is computed by its own operation.
    """
    op = around(tensor, region)
    return tensor.op if op is None else op


def is_rounds(tensor: Tensor) -> bool:
    """Return True if `tensor` is the trip count of a loop."""
    return tensor.op.definition.name == "while_region" and tensor is tensor.op.outputs[-1]


class RegionWrites:
    """State that the operations of a few regions change: its present values, and the place for new ones."""

    def __init__(self, at: CaptureState, inside: Sequence[Operation]) -> None:
        self.at = at
        writes = [op for op in inside if op.definition.effect is Effect.WRITE]
        owners = [variable_of(op.tensors[0], through_writes=True) for op in writes]
        self.variables = list(dict.fromkeys(owner for owner in owners if owner is not None))
        self.draws = [op for op in inside if op.definition.effect is Effect.RANDOM]
        self.ordered = any(op.definition.effect is Effect.EFFECT for op in inside)
        self.checked = at.checks and any(op.definition.requires is not None for op in inside)

    def begin(self) -> None:
        """The states of random ops change from now on, in a way that only the step itself knows."""
        self.at.counts |= {op: self.at.counter(op) for op in self.draws}

    def get(self) -> list[Value]:
        """The present values."""
        at = self.at
        values = [at.variable(owner) for owner in self.variables]
        values += [at.counter(op) for op in self.draws]
        values += [at.order] if self.ordered else []
        return [*values, at.sound] if self.checked else values

    def set(self, values: Sequence[Value]) -> None:
        """Make these the present values."""
        at, rest = self.at, list(values)
        for owner in self.variables:
            at.state[owner] = rest.pop(0)
        for op in self.draws:
            at.counts[op] = rest.pop(0)
        if self.ordered:
            at.order = rest.pop(0)
        if self.checked:
            at.sound = rest.pop(0)


def perform_while(at: CaptureState, op: Operation, inner: Sequence[Tensor]) -> tuple[Value, ...]:
    """The results of a loop. `inner`: tensors inside it whose values in the last round are wanted too."""
    cond, body = op.attrs["cond"], op.attrs["body"]
    wanted = tuple(t.op for t in inner)
    changes = RegionWrites(at, with_inner([*cond.operations(wanted), *body.operations(wanted)]))
    changes.begin()
    given, before = [at.value(t) for t in op.tensors[: len(body.params)]], changes.get()
    try:
        return _rolled(at, op, changes, given, inner)
    except ShapeChanges:
        pass
    except ValueNeeded as needed:
        if not any(around(t, region) for t in needed.tensors for region in (cond, body)):
            raise
    changes.set(before)
    try:
        return _unrolled(at, op, given, inner)
    except ValueNeeded as needed:
        if any(around(t, body) for t in needed.tensors) and not at.overridden.isdisjoint(op.outputs):
            raise by_python(at, op) from None
        raise


def _unrolled(
    at: CaptureState, op: Operation, values: Sequence[Value], inner: Sequence[Tensor]
) -> tuple[Value, ...]:
    """The results of a loop whose rounds differ in their shapes: one round written after the other."""
    cond, body = op.attrs["cond"], op.attrs["body"]
    rounds = at.rounds_known(op)
    for count in range(UNROLLED):
        (pred,) = perform_region(at, cond, values, inner)
        if pred.constant is None and rounds is None:  # data decide how many rounds there are
            break
        if count == rounds if rounds is not None else not pred.constant:
            return (*values, at.build.constant(count, int32))
        values = perform_region(at, body, values, inner)
    if op.outputs[-1] in at.fed and rounds is None:  # Python has done them
        raise StaticFeedNeeded([op.outputs[-1]])
    raise by_python(at, op)


def by_python(at: CaptureState, op: Operation) -> HostNeeded | UnimplementedError:
    """Note that only Python can do the loop `op`. Return what to raise: the operation of the present region
    that it is a part of is needed; or the error, if a derivative flows through that.
    """
    loop = op
    while True:
        for each in regions_of(op):
            each.hosted = True
        if op.region is at.calls.region or op.region is None or op.region.owner is None:
            break
        op = op.region.owner
    if at.overridden.isdisjoint(op.outputs):
        return HostNeeded(op)
    text = f"no derivative flows through {op.name} ({op.type}): only Python can do {loop.name} ({loop.type})"
    hint = "not compiled: data decide the shapes, or how many rounds of changing shapes there are"
    return UnimplementedError(layout(text, loop.where, hint=hint), op)


def _rolled(
    at: CaptureState, op: Operation, changes: RegionWrites, given: Sequence[Value], inner: Sequence[Tensor]
) -> tuple[Value, ...]:
    """The results of a loop whose rounds are the same code."""
    cond, body = op.attrs["cond"], op.attrs["body"]
    pred = perform_region(at, cond, given, inner)[0]
    sound = at.sound
    carried = _Carried(at, [*given, *changes.get()])
    changes.set(carried.params[len(given) :])
    made = perform_region(at, body, carried.params[: len(given)], inner)
    _check_carried(op, carried.params[: len(given)], made)
    again = perform_region(at, cond, made, inner)[0]
    new = [*made, *changes.get()]
    new += [carried.last(at.value(t), is_rounds(t)) for t in inner]
    if op in at.counted:
        new.append(carried.counted())
    checks = (sound, at.sound) if changes.checked else None
    results = _loop(at, op, pred, carried, [again, *new], checks)
    end = len(given) + len(changes.get())
    changes.set(results[len(given) : end])
    at.values.update(zip(inner, results[end:], strict=False))
    rounds = _power_of_two(results[-1]) if op in at.counted else at.build.constant(0, int32)
    return (*results[: len(given)], rounds)


def _power_of_two(count: Value) -> Value:
    """The smallest power of two that is no less, so that different numbers of rounds share one program."""
    ones = count - 1
    for shift in (1, 2, 4, 8, 16):
        ones = ops.bitwise_or(ones, ops.right_shift(ones, np.int32(shift)))
    return ones + 1


class _Carried:
    """Carried values of a loop: those before the first iteration, and the params of its body for them."""

    def __init__(self, at: CaptureState, init: Sequence[Value]) -> None:
        self._build = at.build
        self.init = list(init)
        self.params = [at.build.fresh_parameter("carried", v.type) for v in init]

    def last(self, value: Value, greatest: bool) -> Value:
        """Carry a value inside the loop, as it was in the last round, or the greatest of all rounds."""
        param = self._add(np.zeros(value.shape), value.dtype)
        return ops.maximum(param, value) if greatest else value

    def counted(self) -> Value:
        """Carry the number of rounds."""
        return self._add(0, int32) + 1

    def _add(self, init: Any, dtype: DType) -> Value:
        self.init.append(self._build.constant(init, dtype))
        self.params.append(self._build.fresh_parameter("carried", self.init[-1].type))
        return self.params[-1]


def perform_region(
    at: CaptureState, region: Region, params: Sequence[Value], inner: Sequence[Tensor], results: bool = True
) -> list[Value]:
    """Perform a region.

    Args:
        at: The graph under way.
        region: The region.
        params: The values of its params.
        inner: Tensors inside it, at any depth, to compute too.
        results: If its results are wanted.

    Returns:
        The results of the region, none if they are not wanted.
    """
    at.values.update(zip(region.params, params, strict=True))
    mine = [(t, around(t, region)) for t in inner]
    roots = tuple(op for _, op in mine if op is not None)
    for tensor, op in mine:
        if op is not None and op is not tensor.op:
            at.inner.setdefault(op, []).append(tensor)
    operations = region.operations(roots, results)
    branches = (op for op in roots if op.definition.name == "branch_region")
    at.entered |= only_entered(branches, operations, [t.op for t in region.results] if results else ())
    at.perform_all(operations)
    for op in roots:
        at.inner.pop(op, None)
    return [at.value(t) for t in region.results] if results else []


def only_entered(
    roots: Iterable[Operation], operations: Iterable[Operation], wanted: Iterable[Operation]
) -> set[Operation]:
    """Return those of `roots` of which nothing is wanted but tensors inside: they are neither `wanted` nor
    used by `operations`.
    """
    used = set(wanted)
    for op in operations:
        used.update(t.op for t in op.all_inputs)
        used.update(op.control_inputs)
    return set(roots) - used


def _loop(
    at: CaptureState,
    op: Operation,
    pred: Value,
    carried: _Carried,
    results: Sequence[Value],
    checks: tuple[Value, Value] | None,
) -> list[Value]:
    """The values after a loop. `checks`: if all was sound before the loop, and if it is after a round."""
    if pred.constant is not None and not pred.constant:
        return carried.init
    bound, exact = most_rounds(carried.init, carried.params, results)
    bound = at.rounds_known(op) if bound is None else bound
    if bound is None and checks is not None:  # what is computed of a bad index may never end the loop
        pred, again = (ops.logical_and(*both) for both in zip((pred, results[0]), checks, strict=True))
        results = [again, *results[1:]]
    depends = depends_on(carried.params, results)
    (body,), captured = close(at.build, carried.params, [results], depends.__contains__)
    attrs = {
        "body": body, "carried": len(carried.init), "family": at.build.serial, "bound": bound, "exact": exact,
        "brief": False,
    }  # fmt: skip
    at.loops[at.build.serial] = op
    return list(at.build.node(OPS["loop"], (pred, *carried.init, *captured), attrs).outputs)


def _check_carried(op: Operation, params: Sequence[Value], made: Sequence[Value]) -> None:
    """The types of what comes out of a round are those of what went in."""
    declared = op.attrs["body"].params
    for tensor, before, after in zip(declared, params, made, strict=True):
        if before.type == after.type:
            continue
        if before.dtype is after.dtype and compatible(tensor.type.shape, after.shape):
            raise ShapeChanges
        raise ShapeError(
            layout(
                f"{op.name}: {tensor.op.name} is {before.type} before a round and {after.type} after it",
                op.where,
                [("what the body returns", op.attrs["body"].results[declared.index(tensor)].op.where)],
                hint="what a loop carries keeps its shape; where it must grow, say so in shape_invariants",
            )
        )


def perform_branch(at: CaptureState, op: Operation, inner: Sequence[Tensor]) -> tuple[Value, ...]:
    """Return the results of the branch that is taken, none if only tensors inside are wanted.

    `inner`: tensors inside whose values are wanted too, zeros if another branch is taken.
    """
    (pred,), branches = substitute([at.flag(at.value(op.tensors[0]))], at.known), op.attrs["branches"]
    if pred.constant is not None:
        return _taken(at, op, _number(pred), inner)
    roots, whole = tuple(t.op for t in inner), op not in at.entered
    changes = RegionWrites(at, with_inner(o for b in branches for o in b.operations(roots, whole)))
    changes.begin()
    before, first = changes.get(), at.build.serial
    made = []
    for region in branches:
        changes.set(before)
        made.append([*perform_region(at, region, (), inner, whole), *changes.get()])
    for tensor in inner:
        value = at.value(tensor)
        zeros = at.build.constant(np.zeros(value.shape), value.dtype)
        for region, results in zip(branches, made, strict=True):
            results.append(zeros if around(tensor, region) is None else value)
    if any([v.type for v in results] != [v.type for v in made[0]] for results in made):
        at.operand(op, "pred", op.tensors[0])  # the step is compiled for the branch that is taken
    outputs = _branch(at, pred, made, first)
    count = len(op.outputs) if whole else 0
    end = count + len(before)
    changes.set(outputs[count:end])
    at.values.update(zip(inner, outputs[end:], strict=True))
    return tuple(outputs[:count])


def _taken(at: CaptureState, op: Operation, number: int, inner: Sequence[Tensor]) -> tuple[Value, ...]:
    """Return the results of a branch that is known to be taken."""
    region = taken(op.attrs["branches"], number)
    for tensor in inner:
        if around(tensor, region) is None:
            at.values[tensor] = at.build.constant(np.zeros(tensor.type.static_shape), tensor.dtype)
    return tuple(perform_region(at, region, (), inner, op not in at.entered))


def _number(pred: Value) -> int:
    """The number of the branch that a constant chooses."""
    value = pred.constant
    assert value is not None, pred
    return int(not value) if pred.dtype.is_bool else int(value)


def _branch(at: CaptureState, pred: Value, made: Sequence[Sequence[Value]], first: int) -> list[Value]:
    """One node of several lists of results. What was made after the node of number `first` belongs to it."""

    def inside(value: Value) -> bool:
        node = value.node
        if node.op.name in ("watch", "override"):  # a derivative may be taken by it: it is beside its inputs
            return any(map(inside, node.inputs))
        return node.serial > first and node.op.name not in ("parameter", "reads_of")

    branches, captured = close(at.build, (), made, inside)
    index = ops.select(pred, np.int32(0), np.int32(1)) if pred.dtype.is_bool else ops.cast(pred, dtype=int32)
    return list(at.build.node(OPS["branch"], (index, *captured), {"branches": tuple(branches)}).outputs)
