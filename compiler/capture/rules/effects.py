"""Capture of assertions, prints and checks, in the order of the graph's construction.

Each takes a number from the one before it and gives one to the next: so none is left out, and none goes
before its turn. If there is a condition, the call back into Python is a branch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.capture.rules.operations import answer_of_sizes
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.lambda_lift import close
from staticgraph.compiler.graph.opdef import OPS, ops
from staticgraph.compiler.graph.tensor import Operation


def capture_effect(walk: Walk, op: Operation) -> Made:
    """Return the inputs that are results too, of an operation that always has an effect, such as a print."""
    inputs = [walk.value(t) for t in op.tensors]
    if walk.request.calls.final:  # what an earlier stage of the run computes is computed again
        walk.state.order = ops.effect(walk.state.order, inputs, operation=op)
    return inputs[: len(op.outputs)]


def capture_assertion(walk: Walk, op: Operation) -> Made:
    """Return nothing, of an assertion. It acts if not all of its condition is True.

    An assertion about sizes, such as that two are equal, is answered now, and the answer becomes a guard: a
    step in which it holds calls no Python.
    """
    inputs = [walk.value(t) for t in op.tensors]
    known = None if inputs[0].constant is not None else answer_of_sizes(inputs[0])
    wrong = ops.logical_not(ops.reduce_all(inputs[0] if known is None else known))
    return _conditional(walk, op, inputs, wrong)


def capture_numerics_check(walk: Walk, op: Operation) -> Made:
    """Return the input of a check for NaN and infinity. It acts if there is any."""
    inputs = [walk.value(t) for t in op.tensors]
    return _conditional(walk, op, inputs, ops.logical_not(ops.reduce_all(ops.is_finite(inputs[0]))))


def _conditional(walk: Walk, op: Operation, inputs: Sequence[Value], wrong: Value) -> Made:
    """Return the results of an operation that has an effect if `wrong` holds."""
    if wrong.constant is None or bool(wrong.constant):
        walk.state.order = _if(walk, wrong, ops.effect(walk.state.order, list(inputs), operation=op))
    return inputs[: len(op.outputs)]


def _if(walk: Walk, pred: Value, done: Value) -> Value:
    """Return `done` if `pred` holds, else the order as it was."""
    functions, captured = close(walk.build, (), [[done], [walk.state.order]], lambda v: v is done)
    index = ops.select(pred, np.int32(0), np.int32(1))
    return walk.build.node(OPS["branch"], (index, *captured), {"branches": tuple(functions)}).outputs[0]


RULES["assert_true"] = CaptureRule(capture_assertion)
RULES["check_numerics"] = CaptureRule(capture_numerics_check)
RULES["*effect"] = CaptureRule(capture_effect)
