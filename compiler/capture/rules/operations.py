"""Operations that only compute, and the values of operands that must be known for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import attrgetter
from typing import Any

import numpy as np

from staticgraph.compiler.capture.step import SHORT, Needs, NeedsFeeds, NeedsStage
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk, no_inputs
from staticgraph.compiler.graph.builder import plain
from staticgraph.compiler.graph.function import Node, Value, toposort
from staticgraph.compiler.graph.opdef import Effect, Kind, OpDef, by_meaning, ops
from staticgraph.compiler.graph.size_contexts import Undecided
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.graph.tensor import Operation, Tensor


def attributes(walk: Walk, op: Operation) -> dict[str, Any] | Needs:
    """Return the attributes of an operation, with its operands as Python values."""
    attrs = dict(op.attrs)
    for name, operand in op.operands.items():
        found = static_value(walk, operand)
        if isinstance(found, Needs):
            return found
        attrs[name] = plain(found)
    return {p.name: attrs[p.name] for p in op.definition.params if p.name in attrs}


def static_value(walk: Walk, tensor: Tensor) -> np.ndarray | Needs:
    """Return the value of a tensor that must be known now.

    For all other uses a feed stays a parameter: it has derivatives.
    """
    if (needs := walk.lacking([tensor])) is not None:
        return needs
    value = walk.feeds.known(walk.value(tensor))
    for known in (value.known, answer_of_sizes(value), _clipped(value)):
        if known is not None:
            return known
    nodes = toposort([value])
    below = {v for node in nodes for v in node.outputs}
    feeds = tuple(t for t, param in walk.feeds.params.items() if param in below)
    params = [v for v in below if v.node.op.name == "parameter"]
    short = len(params) == len(feeds) and sum(v.size for v in params) <= SHORT
    # Programs for the values of real numbers would be one for each run: an earlier stage computes the result.
    few = tensor.op.region is not walk.request.calls.region or all(map(_has_few_values, feeds))
    given = all(walk.feeds.params[t] in walk.feeds.constants for t in feeds)
    if tensor in walk.feeds.params or (short and few and not given and not any(map(_compares, nodes))):
        return NeedsFeeds(feeds)
    return NeedsStage((tensor,), of_sizes=not params)


def counted(walk: Walk, op: Operation, *given: Value) -> AnySize | Needs:
    """Return the size that the data of an operation decide, as far as that is known."""
    from staticgraph.compiler.capture.segments import count_of  # few graphs need it

    tensor = count_of(op)
    count = walk.feeds.params.get(tensor)
    if count is None:
        count = tensor.op.definition(*given)
    value = walk.feeds.known(count)
    if value.known is not None:
        return plain(value.known)
    return (NeedsFeeds if tensor in walk.feeds.params else NeedsStage)((tensor,))


def answer_of_sizes(value: Value) -> np.ndarray | None:
    """Return a truth value or a size, such as `where(n > 2, n, 2)`, as open sizes of the run at hand tell it.

    The answers to comparisons become guards.
    """
    found: dict[Value, np.ndarray] = {}
    for node in _of_sizes(value):
        inputs = [found.get(v, v.known) for v in node.inputs]
        known = [each for each in inputs if each is not None]
        if len(known) == len(inputs):
            from staticgraph.compiler.graph.size_algebra.integer_ops import of_sizes  # few graphs need it

            (result,) = node.outputs
            try:
                made = of_sizes(node.op, known, node.attrs, result.dtype)
            except Undecided as undecided:
                if undecided.comparison is not None:
                    raise
                continue  # a quotient that is no polynomial: an earlier stage computes it
            if made is not None:
                found[result] = np.asarray(made, bool if result.dtype.is_bool else object)
    return found.get(value)


def _of_sizes(value: Value) -> list[Node]:
    """Return the nodes below a value whose results may be sizes or truth values, inputs before users."""
    seen: set[Node] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        node, may_be = value.node, value.dtype.is_bool or value.dtype.is_integer
        usable = node.op.reference is not None and node.op.effect is Effect.PURE and len(node.outputs) == 1
        if value.known is None and may_be and usable and node.inputs and node not in seen:
            seen.add(node)
            stack.extend(node.inputs)
    return sorted(seen, key=attrgetter("serial"))


def _clipped(value: Value) -> np.ndarray | None:
    """Return the limit of a number that is clipped to one value, as the length of a `bincount` may be."""
    if value.node.op.name != "minimum" or value.shape:
        return None
    for most, other in (value.node.inputs, value.node.inputs[::-1]):
        least = [v.constant for v in other.node.inputs] if other.node.op.name == "maximum" else []
        if most.constant is not None and any(n is not None and n >= most.constant for n in least):
            return most.constant
    return None


def _has_few_values(feed: Tensor) -> bool:
    """Return True for a feed with as many values as a program of sizes or choices meets."""
    return feed.dtype.is_integer or (feed.dtype.is_bool and feed.type.shape == ())


def _compares(node: Node) -> bool:
    """Return True if a node gives the greatest or least of several numbers, such as that of lengths.

    A step would have to be compiled for each order of these numbers: an earlier stage computes it.
    """
    return node.op.name in ("reduce_max", "reduce_min") and node.inputs[0].size > 1


def flag(walk: Walk, value: Value) -> Value | NeedsFeeds:
    """Return a truth value, as a constant if it depends on nothing but fed truth values.

    Steps are compiled for each value of these feeds.
    """
    seen: set[Value] = set()
    stack = [value]
    while stack and len(seen) <= SHORT:
        each = stack.pop()
        if each not in seen:
            seen.add(each)
            stack += each.node.inputs
    sources = [v for v in seen if not v.node.inputs and v.constant is None]
    flags = walk.feeds.flags
    if stack or not sources or any(v not in flags for v in sources):
        return value
    if unknown := tuple(flags[v] for v in sources if v not in walk.feeds.constants):
        return NeedsFeeds(unknown)
    return walk.feeds.known(value)


def known_trip_count(walk: Walk, loop: Operation) -> AnySize | None:
    """Return a bound of the trip count of a loop, if an earlier stage has found it out."""
    param = walk.feeds.params.get(loop.outputs[-1])
    constant = None if param is None else walk.feeds.constants.get(param)
    known = None if constant is None else constant.known
    return None if known is None else known.item()


def capture_operation(walk: Walk, op: Operation) -> Made:
    """Return the values of an operation that has no rule of its own."""
    return applied(walk, op, [walk.value(t) for t in op.tensors])


def capture_constant(walk: Walk, op: Operation) -> Made:
    """Return a constant of the user's graph."""
    return walk.build.literal(op.attrs["value"])


def capture_select(walk: Walk, op: Operation) -> Made:
    """Return the input that a selection gives, if that is known and the other one does not matter."""
    condition, first, second = inputs = [walk.value(t) for t in op.tensors]
    if condition.shape == ():
        known = flag(walk, condition)
        if isinstance(known, Needs):
            return known
        if known.constant is not None and first.type == second.type:
            return first if known.constant else second
    return applied(walk, op, inputs)


def capture_sum(walk: Walk, op: Operation) -> Made:
    """Return a sum of many as additions of two, which rules know, but which would let shapes differ."""
    inputs = [walk.value(t) for t in op.tensors]
    walk.build.types(op.definition, inputs, {})
    return reduce(ops.add, inputs)


def applied(
    walk: Walk, op: Operation, inputs: Sequence[Value], attrs: dict[str, Any] | Needs | None = None
) -> Any:
    """Return the value or values of the op of an operation for these inputs; or what is lacking.

    `attrs`: the attributes of the operation, if they were found before.
    """
    definition = op.definition
    attrs = attributes(walk, op) if attrs is None else attrs
    if isinstance(attrs, Needs):
        return attrs
    if definition.counted is not None and attrs.get("num_segments", 0) is None:
        count = counted(walk, op, inputs[-1])
        if isinstance(count, Needs):
            return count
        attrs["num_segments"] = count
    if definition.effect is Effect.RANDOM:
        attrs |= {"seed": 0, "seed2": 0}  # they are in the state: equal shapes are then equal kernels
    made_of_others = definition.inline or (definition.kind is Kind.COMPOSITE and definition.grad is None)
    if made_of_others and definition.decides_by is None:
        assert definition.expand is not None
        walk.build.types(definition, inputs, attrs)  # there is no node that would be checked
        _require(walk, definition, inputs, attrs)
        return definition.expand(*inputs, **attrs)
    if definition.reference is not None and definition.effect is Effect.PURE and walk.request.on_host(op):
        definition = by_meaning(definition)
    made = walk.build.apply(definition, inputs, attrs)
    _require(walk, definition, inputs, attrs)
    return made


def _require(walk: Walk, definition: OpDef, inputs: Sequence[Value], attrs: Mapping[str, Any]) -> None:
    """Note what an operation requires of its inputs, whose types fit."""
    if walk.request.checks and definition.requires is not None:
        required = definition.requires(*inputs, **attrs)
        with walk.build.at(None):  # to join them is no work of the user's line
            for holds in required:
                walk.state.sound = ops.logical_and(walk.state.sound, holds)


RULES["*computed"] = CaptureRule(capture_operation)
RULES["constant"] = CaptureRule(capture_constant, no_inputs)
RULES["select"] = RULES["select_rows"] = CaptureRule(capture_select)
RULES["add_n"] = CaptureRule(capture_sum)
