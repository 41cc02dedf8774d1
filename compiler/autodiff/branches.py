"""Derivatives of branches, which are branches again: the backward form computes again what it needs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from staticgraph.compiler.autodiff.cotangents import Cotangents, Unbounded, Vjp
from staticgraph.compiler.graph.builder import Builder
from staticgraph.compiler.graph.function import Function, Node, Value, substitute
from staticgraph.compiler.graph.opdef import OPS, ops
from staticgraph.compiler.graph.sizes import several


def branch_cotangents(
    build: Builder, node: Node, gs: Sequence[Value | None], vjp: Vjp
) -> Cotangents | Unbounded:
    """Return the cotangents of the inputs of a branch, given the cotangents `gs` of its outputs."""
    branches: tuple[Function, ...] = node.attrs["branches"]
    given = [g for g in gs if g is not None]
    stand_ins = [build.fresh_parameter("received", g.type) for g in given]
    seeds = iter(stand_ins)
    weights = [next(seeds) if g is not None else None for g in gs]
    alternatives = []
    for each in branches:
        pairs = [(r, w) for r, w in zip(each.results, weights, strict=True) if w is not None]
        wanted = [p for p in each.params if p.dtype.is_differentiable]
        received = vjp(build, [r for r, _ in pairs], [w for _, w in pairs], wanted)
        if isinstance(received, Unbounded):
            return received
        alternatives.append(dict(zip(wanted, received, strict=True)))
    reached = [
        i
        for i, param in enumerate(branches[0].params)
        if any(f.get(each.params[i]) is not None for f, each in zip(alternatives, branches, strict=True))
    ]
    parts: Cotangents = [None] * len(node.inputs)
    if not reached:
        return parts
    made = []
    for each, found in zip(branches, alternatives, strict=True):
        results = []
        for i in reached:
            g = found.get(each.params[i])
            results.append(zeros(build, each.params[i]) if g is None else g)
        made.append(Function((*each.params, *stand_ins), tuple(results)))
    shared = [_renamed(each, made[0].params) for each in made]
    backward = build.node(OPS["branch"], (*node.inputs, *given), {"branches": tuple(shared)})
    for i, value in zip(reached, backward.outputs, strict=True):
        parts[1 + i] = value
    return parts


def _renamed(function: Function, params: Sequence[Value]) -> Function:
    """`function` in terms of other params; branches must agree on them."""
    table = dict(zip(function.params, params, strict=True))
    return Function(tuple(params), tuple(substitute(function.results, table)))


def zeros(build: Builder, like: Value) -> Value:
    """Return zeros, the cotangent of a value that no cotangent reaches."""
    if several(like.size):
        zero: Value = ops.fill(build.constant(0, like.dtype), dims=like.shape)
        return zero
    return build.constant(np.zeros(like.shape), like.dtype)
