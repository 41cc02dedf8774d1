"""Capture of branches as nodes of a Function, or of the branch that is taken, if that is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.capture.rules.operations import flag, static_value
from staticgraph.compiler.capture.rules.region_walk import RegionState, perform_region
from staticgraph.compiler.capture.step import Needs, Stop
from staticgraph.compiler.capture.walk import RULES, CaptureRule, Made, Walk
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import GraphError, require
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.lambda_lift import close
from staticgraph.compiler.graph.opdef import OPS, ops
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.graph.tensor import Operation, Tensor, acting, around
from staticgraph.compiler.ops.control.control_flow import taken


def condition(op: Operation) -> Sequence[Tensor]:
    """Return the input of a branch that selects; the others are what its regions capture."""
    return op.tensors[:1]


def capture_branch(walk: Walk, op: Operation) -> Made:
    """Return the results of the branch that is taken."""
    pred = flag(walk, walk.value(op.tensors[0]))
    if isinstance(pred, Needs):
        return pred
    pred = walk.feeds.known(pred)
    text = f"{pred.type} chooses no branch, it must be one truth value or one int32"
    require(not pred.shape, text, hint="reduce_all and reduce_any make one truth value of many")
    inner = walk.wanted.inner.get(op, ())  # tensors inside that are wanted too: zeros in other branches
    made = _all_branches(walk, op, pred, inner) if pred.constant is None else _taken(walk, op, pred, inner)
    only_inner = op in walk.wanted.entered and not isinstance(made, Stop)
    return None if only_inner else made


def _taken(walk: Walk, op: Operation, pred: Value, inner: Sequence[Tensor]) -> list[Value] | Stop:
    """Return the results of the branch that a constant selects, none if only tensors inside are wanted."""
    value = pred.constant
    assert value is not None, pred
    region = taken(op.attrs["branches"], int(not value) if pred.dtype.is_bool else int(value))
    for tensor in inner:
        if around(tensor, region) is None:
            walk.values[tensor] = walk.build.constant(np.zeros(tensor.type.static_shape), tensor.dtype)
    return perform_region(walk, region, (), inner, op not in walk.wanted.entered)


def _all_branches(walk: Walk, op: Operation, pred: Value, inner: Sequence[Tensor]) -> list[Value] | Stop:
    """Return the results of one node of all branches, none if only tensors inside are wanted."""
    branches, whole = op.attrs["branches"], op not in walk.wanted.entered
    roots = tuple(t.op for t in inner)
    state = RegionState(
        walk, acting((each for b in branches for each in b.operations(roots, whole)), walk.acting)
    )
    if (needs := state.begin()) is not None:
        return needs
    before, first = state.get(), walk.build.serial
    made = []
    for region in branches:
        state.set(before)
        try:
            results = perform_region(walk, region, (), inner, whole)
        except GraphError:  # its shapes do not fit, which matters only if it is taken
            continue
        if isinstance(results, Stop):
            return results
        made.append([*results, *state.get()])
    if whole and not inner and walk.lacks_rows and (guess := _with_rows(made, len(branches))) is not None:
        walk.guessed = True
        state.set(guess[len(op.outputs) :])
        return guess[: len(op.outputs)]
    if len(made) < len(branches):
        return _known_branch(walk, op, pred, inner, state, before)
    for tensor in inner:
        value = walk.value(tensor)
        zeros = walk.build.constant(np.zeros(value.shape), value.dtype)
        for region, results in zip(branches, made, strict=True):
            results.append(zeros if around(tensor, region) is None else value)
    if any([v.type for v in results] != [v.type for v in made[0]] for results in made):
        return _known_branch(walk, op, pred, inner, state, before)
    outputs = _branch(walk, pred, made, first)
    count = len(op.outputs) if whole else 0
    end = count + len(before)
    state.set(outputs[count:end])
    walk.values.update(zip(inner, outputs[end:], strict=True))
    return outputs[:count]


def _known_branch(
    walk: Walk,
    op: Operation,
    pred: Value,
    inner: Sequence[Tensor],
    state: RegionState,
    before: Sequence[Value],
) -> list[Value] | Stop:
    """Return the results of the branch that is taken, for which the step is compiled."""
    known = static_value(walk, op.tensors[0])
    if isinstance(known, Needs):
        return known
    state.set(before)
    return _taken(walk, op, walk.build.constant(known, pred.dtype), inner)


def _with_rows(made: Sequence[list[Value]], count: int) -> list[Value] | None:
    """Return the results of a branch that reads no array without rows, if another of the branches does.

    Such an array has elements of no size: the other branch fails with them, or gives another type:

        cond(is_leaf[i], lambda: word, lambda: combine(nodes.read(left[i]), nodes.read(right[i])))

    Args:
        made: The results of the branches that did not fail.
        count: The number of branches.
    """
    if len(made) == count and all([v.type for v in each] == [v.type for v in made[0]] for each in made):
        return None
    whole = (each for each in made if not any(same(n, 0) for v in each for n in v.shape))
    return next(whole, None)


def _branch(walk: Walk, pred: Value, made: Sequence[Sequence[Value]], first: int) -> list[Value]:
    """Return one node of several lists of results.

    What was made after the node of number `first` belongs to the branches.
    """

    def inside(value: Value) -> bool:
        node = value.node
        if node.op.name in _BESIDE_INPUTS:
            return any(map(inside, node.inputs))
        return node.serial > first and node.op.name not in _OUTSIDE

    branches, captured = close(walk.build, (), made, inside)
    index = ops.select(pred, np.int32(0), np.int32(1)) if pred.dtype.is_bool else ops.cast(pred, dtype=int32)
    return list(walk.build.node(OPS["branch"], (index, *captured), {"branches": tuple(branches)}).outputs)


_BESIDE_INPUTS = {"watch", "override"}  # a derivative may be taken by these
_OUTSIDE = {"parameter", "reads_of"}


RULES["branch_region"] = CaptureRule(capture_branch, condition)
