"""Random tensors that are the same in every run, with TensorFlow 1's names and streams: part of `sg.random`.

Their seed is a pair of integers, which may be a tensor; no other seed counts.
"""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float32, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.tensor import Tensor


def _seed(seed: Any) -> Tensor:
    return seed if isinstance(seed, Tensor) else convert_to_tensor(seed, dtype=int64, name="seed")


def stateless_uniform(
    shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Numbers of uniform distribution in [minval, maxval) that `seed` alone determines.

    `maxval` is 1 for floating types unless given, and must be given for int32 and int64.

    >>> import staticgraph as sg
    >>> x = sg.random.stateless_uniform([2, 3], seed=[1, 2])
    >>> with sg.Session() as one, sg.Session() as other:
    ...     bool((one.run(x) == other.run(x)).all())
    True
    """
    dtype = as_dtype(dtype)
    with checked("stateless_uniform"):
        require(dtype.is_floating or dtype in (int32, int64), f"there are no random numbers of dtype {dtype}")
        require(maxval is not None or dtype.is_floating, f"maxval must be given for {dtype}")
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        low = convert_to_tensor(minval, dtype=dtype, name="min")
        high = convert_to_tensor(1 if maxval is None else maxval, dtype=dtype, name="max")
        if dtype.is_integer:
            return ops.stateless_random_uniform_int(_seed(seed), low, high, shape=shape, name=scope)
        unit = ops.stateless_random_uniform(_seed(seed), shape=shape, dtype=dtype)
        return ops.add(unit * (high - low), low, name=scope)


def stateless_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Numbers of normal distribution that `seed` alone determines."""
    default = "stateless_random_normal"
    return _normal(ops.stateless_random_normal, shape, seed, mean, stddev, dtype, name, default)


def stateless_truncated_normal(
    shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """`stateless_normal` without the numbers two standard deviations or more from the mean."""
    default = "stateless_truncated_normal"
    return _normal(ops.stateless_truncated_normal, shape, seed, mean, stddev, dtype, name, default)


def _normal(
    op: Any, shape: Any, seed: Any, mean: Any, stddev: Any, dtype: Any, name: str | None, default: str
) -> Tensor:
    dtype = as_dtype(dtype)
    with name_scope(name, default, [shape, seed, mean, stddev]) as scope:
        mean = convert_to_tensor(mean, dtype=dtype, name="mean")
        stddev = convert_to_tensor(stddev, dtype=dtype, name="stddev")
        return ops.add(op(_seed(seed), shape=shape, dtype=dtype) * stddev, mean, name=scope)


def stateless_multinomial(
    logits: Any, num_samples: Any, seed: Any, output_dtype: Any = int64, name: str | None = None
) -> Tensor:
    """For each row of `logits`, `num_samples` classes with the probabilities softmax(logits)."""
    with name_scope(name, "stateless_multinomial", [logits, seed]):
        return ops.stateless_multinomial(
            logits, _seed(seed), num_samples=num_samples, output_dtype=as_dtype(output_dtype)
        )


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = int64, name: str | None = None
) -> Tensor:
    """`stateless_multinomial` under its later name."""
    return stateless_multinomial(logits, num_samples, seed, dtype, name or "stateless_categorical")
