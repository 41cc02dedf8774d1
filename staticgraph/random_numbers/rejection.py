"""Numbers of gamma and Poisson distribution, with TensorFlow 1.15's names and streams."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float16, float32, float64, int32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.random_numbers.integers import seeds_of


def random_gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of density proportional to `x ** (alpha - 1) * exp(-beta * x)`.

    Gradients flow to `alpha` and `beta`: that by `alpha` moves each number so that its probability of being
    less stays the same.

    Args:
        shape: The shape of the numbers of each distribution, a vector of integers.
        alpha: The shape parameters of the distributions, of `dtype`.
        beta: Their rates, which broadcast with `alpha`; 1 if None.
        dtype: float16, float32 (the default) or float64.
        seed: The seed of the operation, an integer; see `set_random_seed`.
        name: The name of the scope, "random_gamma" by default.

    Returns:
        The numbers, of `dtype` and the shape `shape` followed by that of `alpha + beta`. None is 0.

    Raises:
        DtypeError: `dtype` is another one.

    >>> import staticgraph as sg
    >>> sg.random_gamma([5], [0.5, 1.5])
    <sg.Tensor 'random_gamma/Maximum:0' shape=(5, 2) dtype=float32>
    """
    dtype = as_dtype(dtype)
    with checked("random_gamma"):
        known = dtype in (float16, float32, float64)
        require(known, f"dtype is {dtype}, and must be float16, float32 or float64")
    with name_scope(name, "random_gamma", [shape, alpha, beta]):
        shape = convert_to_tensor(shape, dtype=int32, name="shape")
        alpha = convert_to_tensor(alpha, dtype=dtype, name="alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype=dtype, name="beta")
        alpha = alpha + ops.zeros_like(beta)
        first, second = seeds_of(seed)
        unit = ops.random_gamma(alpha, shape=shape, seed=first, seed2=second)
        return ops.maximum(float(np.finfo(dtype.as_numpy_dtype).tiny), unit / beta)


def random_poisson(
    lam: Any,
    shape: Any,
    dtype: Any = float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Numbers of Poisson distribution: how many events of the rates `lam` there are.

    Args:
        lam: The rates, of dtype float16, float32, float64, int32 or int64. None is NaN or above the largest
            number of `dtype`; a negative one has no events.
        shape: The shape of the numbers of each distribution, a vector of integers.
        dtype: The dtype of the numbers: float16, float32 (the default), float64, int32 or int64.
        seed: The seed of the operation, an integer; see `set_random_seed`.
        name: The name of the scope, "random_poisson" by default.

    Returns:
        The numbers, of `dtype` and the shape `shape` followed by that of `lam`. There is no gradient.

    Raises:
        DtypeError: `dtype` is another one.
        InvalidArgumentError: A rate is NaN or too large, in a run.

    >>> import staticgraph as sg
    >>> sg.random_poisson([0.5, 1.5], [10])
    <sg.Tensor 'random_poisson/RandomPoissonV2:0' shape=(10, 2) dtype=float32>
    """
    with name_scope(name, "random_poisson", [lam, shape]):
        shape = convert_to_tensor(shape, dtype=int32, name="shape")
        first, second = seeds_of(seed)
        lam = convert_to_tensor(lam, preferred_dtype=float64, name="rate")
        return ops.random_poisson(lam, shape=shape, dtype=as_dtype(dtype), seed=first, seed2=second)
