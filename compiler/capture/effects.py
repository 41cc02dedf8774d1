"""Assertions, prints and checks as nodes of a Function, in the order of the graph's construction.

Each takes a number from the one before it and gives one to the next: so none is left out, and none goes
before its turn. Where there is a condition, the call back into Python is a branch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.capture.state import CaptureState
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.lambda_lift import close
from staticgraph.compiler.graph.opdef import OPS
from staticgraph.compiler.graph.tensor import Operation


def perform_effect(at: CaptureState, op: Operation, inputs: Sequence[Value]) -> tuple[Value, ...]:
    """The results of an operation with an effect: of those that have any, their first input."""
    if (wrong := _wrong(op, inputs)) is None:
        if at.calls.final:  # what an earlier stage of the run computes is computed again
            at.order = ops.effect(at.order, list(inputs), operation=op)
    elif wrong.constant is None or bool(wrong.constant):
        at.order = _if(at, wrong, ops.effect(at.order, list(inputs), operation=op))
    return tuple(inputs[: len(op.outputs)])


def _wrong(op: Operation, inputs: Sequence[Value]) -> Value | None:
    """Return the condition under which there is something to do, or None if there always is."""
    match op.definition.name:
        case "assert_true":
            return ops.logical_not(ops.reduce_all(inputs[0]))
        case "check_numerics":
            return ops.logical_not(ops.reduce_all(ops.is_finite(inputs[0])))
    return None


def _if(at: CaptureState, pred: Value, done: Value) -> Value:
    """`done` where `pred` holds, else the order as it was."""
    functions, captured = close(at.build, (), [[done], [at.order]], lambda v: v is done)
    index = ops.select(pred, np.int32(0), np.int32(1))
    return at.build.node(OPS["branch"], (index, *captured), {"branches": tuple(functions)}).outputs[0]
