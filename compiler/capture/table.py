"""Table of the operations that are captured in a way of their own.

An operation is looked up by its name, then by its effect. All others only compute.
"""

from __future__ import annotations

from staticgraph.compiler.capture.rules.arrays import capture_array, capture_scatter, capture_write
from staticgraph.compiler.capture.rules.branches import capture_branch, condition
from staticgraph.compiler.capture.rules.derivatives import (
    capture_custom_gradient,
    capture_gradients,
    capture_seed,
    custom_results,
    gradient_inputs,
)
from staticgraph.compiler.capture.rules.effects import (
    capture_assertion,
    capture_effect,
    capture_numerics_check,
)
from staticgraph.compiler.capture.rules.host import capture_host
from staticgraph.compiler.capture.rules.loops import capture_while, initial_values
from staticgraph.compiler.capture.rules.operations import capture_operation, capture_select, capture_sum
from staticgraph.compiler.capture.rules.random_states import capture_random
from staticgraph.compiler.capture.rules.variables import (
    capture_assign,
    capture_initialized_value,
    capture_input,
    capture_is_initialized,
    capture_update,
)
from staticgraph.compiler.capture.segments import is_host
from staticgraph.compiler.capture.walk import CaptureRule, Walk
from staticgraph.compiler.graph.opdef import Effect
from staticgraph.compiler.graph.tensor import Operation, Tensor


def _nothing(op: Operation) -> tuple[Tensor, ...]:
    return ()


# The values of these come from outside: from feeds, from variables, and from the loop around them.
GIVEN = {
    name: CaptureRule(lambda walk, op: None, _nothing)
    for name in ("placeholder", "variable", "read_variable", "region_parameter")
}

BY_NAME = {
    "placeholder_with_default": CaptureRule(capture_input),  # it is not fed
    # variables
    "read_value": CaptureRule(capture_input),
    "assign": CaptureRule(capture_assign, _nothing),
    "is_variable_initialized": CaptureRule(capture_is_initialized, _nothing),
    "initialized_value": CaptureRule(capture_initialized_value, _nothing),
    # arrays of rows
    "tensor_array": CaptureRule(capture_array),
    "tensor_array_write": CaptureRule(capture_write),
    "tensor_array_scatter": CaptureRule(capture_scatter),
    # control flow
    "while_region": CaptureRule(capture_while, initial_values),
    "branch_region": CaptureRule(capture_branch, condition),
    "select": CaptureRule(capture_select),
    "select_rows": CaptureRule(capture_select),
    "add_n": CaptureRule(capture_sum),
    # derivatives
    "symbolic_gradients": CaptureRule(capture_gradients, gradient_inputs),
    "seed": CaptureRule(capture_seed),
    "custom_gradient": CaptureRule(capture_custom_gradient, custom_results),
    # effects with a condition
    "assert_true": CaptureRule(capture_assertion),
    "check_numerics": CaptureRule(capture_numerics_check),
}

BY_EFFECT = {
    Effect.EFFECT: CaptureRule(capture_effect),
    Effect.WRITE: CaptureRule(capture_update, _nothing),
    Effect.RANDOM: CaptureRule(capture_random),
}

HOST = CaptureRule(capture_host, _nothing)
COMPUTED = CaptureRule(capture_operation)


def rule_of(walk: Walk, op: Operation) -> CaptureRule:
    """Return the rule of an operation. Python does host ops, unless a derivative flows through them."""
    definition = op.definition
    if definition.name in GIVEN:
        return GIVEN[definition.name]
    if is_host(op) and walk.wanted.overridden.isdisjoint(op.outputs):
        return HOST
    return BY_NAME.get(definition.name) or BY_EFFECT.get(definition.effect, COMPUTED)
