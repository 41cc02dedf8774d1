"""The derivatives of one op of the registry, at all its points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import GraphError, InvalidArgumentError, RuleError
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import OpDef, Role
from tests.derivatives.differences import Outcome, check
from tests.derivatives.exceptions import EXEMPT, Exempt
from tests.derivatives.points import differentiable_uses, grid_use
from tests.ops.harness import Use

# The whole numbers that an op refuses by its type rule, and by its meaning at such a point.
REFUSALS = (
    GraphError,
    RuleError,
    InvalidArgumentError,
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    ZeroDivisionError,
)


def compare(op: OpDef, deep: bool = True) -> Outcome:
    """Compare the derivatives of an op at its samples and at special points: all of them if `deep`."""
    outcome = Outcome()
    for use in differentiable_uses(op, deep):
        outcome.add(_at(use, deep))
    grid = grid_use(op)
    if grid is not None:
        outcome.add(_at(grid, True, by_element=True))
    return outcome


def _at(use: Use, singly: bool, by_element: bool = False) -> Outcome:
    def function(*inputs: Value) -> Sequence[Value]:
        return invariants(use, use.apply(inputs[0].recorder, inputs))

    outcome = Outcome()
    for varied in _variables(use, singly):
        try:
            outcome.add(check(function, use.arrays, str(use), varied, by_element))
        except REFUSALS:
            outcome.refused += 1
    return outcome


def _variables(use: Use, singly: bool) -> list[tuple[set[int], set[int]]]:
    """The inputs to vary: all that have derivatives and, if `singly`, each of them alone."""
    attrs = {p.name: p.default for p in use.op.params if p.role is Role.ATTR} | use.sample.attrs
    first = set(use.op.gradient_inputs(len(use.arrays), attrs))
    exempt = EXEMPT.get(use.op.name, Exempt(""))
    if exempt.unless is not None and not exempt.unless(use.arrays):
        return []
    first -= set(exempt.first)
    groups = [first] + [{i} for i in first if singly and len(first) > 1 and use.dtypes[i].is_differentiable]
    return [(group, group - set(exempt.second)) for group in groups if group]


def invariants(use: Use, results: tuple[Value, ...]) -> Sequence[Value]:
    """Results that do not depend on the vectors that LAPACK chooses: their phases, and bases of spaces."""
    make = _INVARIANTS.get(use.op.name)
    return results if make is None else make(use, *results)


def _weighted(left: Value, right: Value) -> Value:
    """The sum of k * left_k right_k^H over columns."""
    k = min(left.shape[-1], right.shape[-1])
    weights = np.arange(1.0, k + 1)
    return ops.batch_matmul(left[..., :k] * weights.astype(left.dtype.numpy), right[..., :k], adj_y=True)


def _rest(vectors: Value, k: int) -> Value:
    return ops.batch_matmul(vectors[..., k:], vectors[..., k:], adj_y=True)


def _of_eig(use: Use, values: Value, vectors: Value) -> list[Value]:
    return [values, _weighted(vectors, vectors)] if use.sample.attrs.get("compute_v", True) else [values]


def _of_svd(use: Use, values: Value, left: Value, right: Value) -> list[Value]:
    if not use.sample.attrs.get("compute_uv", True):
        return [values]
    k = values.shape[-1]
    return [values, _weighted(left, right), _rest(left, k), _rest(right, k)]


def _of_qr(use: Use, q: Value, r: Value) -> list[Value]:
    k = min(use.arrays[0].shape[-2:])
    return [q[..., :k], r, _rest(q, k)]


_INVARIANTS: dict[str, Callable[..., Any]] = {"self_adjoint_eig": _of_eig, "svd": _of_svd, "qr": _of_qr}
