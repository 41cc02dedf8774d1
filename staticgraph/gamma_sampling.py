"""Gamma-distributed numbers by the method of Marsaglia and Tsang (2000), with derivatives.

The method rejects some candidates. As shapes are fixed when a graph is compiled, all candidates of `_ROUNDS`
rounds are drawn and the first accepted one is taken. A round accepts with a probability of at least 0.951, so
that none does with a probability below 1e-13; then the last candidate serves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import concat, shape
from staticgraph.arrays.indexing import where_v2
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor, stop_gradient
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float32, int32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.differentiation.custom_gradient import custom_gradient
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.random_numbers.random_ops import random_normal, random_uniform

__all__ = ["random_gamma"]

_ROUNDS = 10


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of density proportional to `x ** (alpha - 1) * exp(-beta * x)`.

    `alpha` and `beta` (1 by default) broadcast; the result has the shape `shape` followed by theirs.
    Gradients flow to both: that by `alpha` moves each number so that its probability of being less stays the
    same.

    >>> import staticgraph as sg
    >>> from staticgraph.gamma_sampling import random_gamma
    >>> random_gamma([5], [0.5, 1.5])
    <sg.Tensor 'random_gamma/Maximum_1:0' shape=(5, 2) dtype=float32>
    """
    dtype = as_dtype(dtype)
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        leading = convert_to_tensor(shape, dtype=int32, name="shape")
        alpha = convert_to_tensor(alpha, dtype=dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype=dtype, name="beta")
        alpha = alpha + ops.zeros_like(beta)
        unit = _reparameterized(ops.broadcast_to(alpha, concat([leading, _shape(alpha)], 0)), seed)
        return ops.maximum(float(np.finfo(dtype.as_numpy_dtype).tiny), unit / beta)


_shape = shape


def _reparameterized(alpha: Tensor, seed: int | None) -> Any:
    """One number x per element. Its cdf P(alpha, x) is held fixed: dx/dalpha = -dP/dalpha / density."""

    @custom_gradient
    def drawn(alpha: Tensor) -> Any:
        x = stop_gradient(_drawn(alpha, seed))

        def grad(dy: Tensor) -> Tensor:
            density = ops.exp((alpha - 1.0) * ops.log(x) - x - ops.lgamma(alpha))
            return -dy * ops.igamma_grad_a(alpha, x) / density

        return x, grad

    return drawn(alpha)


def _drawn(alpha: Tensor, seed: int | None) -> Tensor:
    small = alpha < 1.0
    lifted = where_v2(small, alpha + 1.0, alpha)  # the method needs alpha >= 1
    rounds = concat([[_ROUNDS], _shape(alpha)], 0)
    normal = random_normal(rounds, dtype=alpha.dtype, seed=seed)
    uniform = 1.0 - random_uniform(rounds, dtype=alpha.dtype, seed=None if seed is None else seed + 1)
    d = lifted - 1.0 / 3.0
    root = 1.0 + normal * ops.rsqrt(9.0 * d)
    cube = root * root * root
    accepted = (root > 0.0) & (
        ops.log(uniform) < 0.5 * normal * normal + d * (1.0 - cube + ops.log(ops.maximum(cube, 1e-30)))
    )
    number = ops.reshape(ops.range(start=0, limit=_ROUNDS, delta=1, dtype=int32), shape=_column(alpha))
    first = ops.reduce_min(where_v2(accepted, number, _ROUNDS - 1), axis=0)
    chosen = d * reduce_sum(where_v2(ops.equal(number, first), cube, 0.0), axis=0)
    other = 1.0 - random_uniform(_shape(alpha), dtype=alpha.dtype, seed=None if seed is None else seed + 2)
    return where_v2(small, chosen * ops.pow(other, 1.0 / alpha), chosen)


def _column(alpha: Tensor) -> Any:
    """The shape that lays the rounds along a first axis before those of `alpha`."""
    return concat([[_ROUNDS], ops.ones_like(_shape(alpha))], 0)
