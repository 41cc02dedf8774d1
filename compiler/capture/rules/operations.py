"""Capture of operations that only compute: one node, or those that a composite is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from staticgraph.compiler.capture.request import Needs
from staticgraph.compiler.capture.rules.static_values import attributes, flag
from staticgraph.compiler.capture.table import RULES
from staticgraph.compiler.capture.walk import CaptureRule, Made, Walk, no_inputs
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import Effect, Kind, OpDef, by_meaning, ops
from staticgraph.compiler.graph.tensor import Operation

# Ops that decide by numbers and give none, and the input that they decide by.
DECISIONS = {
    "argmax": 0,
    "argmin": 0,
    "top_k": 0,
    "in_top_k": 0,
    "multinomial": 1,
    "stateless_multinomial": 0,
}


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
    """Return a sum of many as additions of two, which rules know."""
    return reduce(ops.add, (walk.value(t) for t in op.tensors))


def applied(walk: Walk, op: Operation, inputs: Sequence[Value]) -> Any:
    """Return the value or values of the op of an operation for these inputs; or what is lacking."""
    definition = op.definition
    attrs = attributes(walk, op)
    if isinstance(attrs, Needs):
        return attrs
    if definition.effect is Effect.RANDOM:
        attrs |= {"seed": 0, "seed2": 0}  # they are in the state: equal shapes are then equal kernels
    made_of_others = definition.inline or (definition.kind is Kind.COMPOSITE and definition.grad is None)
    if made_of_others and definition.name not in DECISIONS:
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
