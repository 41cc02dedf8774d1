"""Moments, normalisation and dropout, with TensorFlow 1's names: part of `sg.nn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.casts import of_dtype, widened
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.signatures import renamed
from staticgraph.building.sizes import size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.reductions import reduce_mean, reduce_sum
from staticgraph.random_numbers.random_ops import random_uniform


def _axes(axes: Any) -> Any:
    return tuple(axes) if isinstance(axes, list | tuple) else axes


def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance of the elements along `axes`. `shift` is not used.

    >>> import staticgraph as sg
    >>> mean, variance = sg.nn.moments(sg.placeholder(sg.float32, [None, 8]), [0])
    >>> mean.name, variance.shape.as_list()
    ('moments/Squeeze:0', [8])
    """
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "moments", [x]):
        x = convert_to_tensor(x)
        wide = widened(x)
        mean = reduce_mean(wide, axes, keepdims=True, name="mean")
        differences = ops.squared_difference(wide, ops.stationary(mean))
        variance = reduce_mean(differences, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = (ops.squeeze(v, axis=_axes(axes)) for v in (mean, variance))
        return of_dtype(mean, x.dtype), of_dtype(variance, x.dtype)


def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean and the variance along `axes`, each element counted as often as its weight says."""
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    with name_scope(name, "weighted_moments", [x, frequency_weights]):
        given = convert_to_tensor(x, name="x")
        x = widened(given)
        weights = of_dtype(convert_to_tensor(frequency_weights, name="frequency_weights"), x.dtype)
        with counted_as(x.graph, 1):
            everywhere = weights + ops.zeros_like(x)
        total = reduce_sum(everywhere, axes, keepdims=True, name="sum_of_weights")
        share = ops.reciprocal(total)
        mean = reduce_sum(weights * x, axes, keepdims=True) * share
        distances = weights * ops.squared_difference(x, ops.stationary(mean))
        variance = reduce_sum(distances, axes, keepdims=True) * share
        if not keep:
            mean, variance = (ops.squeeze(v, axis=_axes(axes)) for v in (mean, variance))
        return of_dtype(mean, given.dtype), of_dtype(variance, given.dtype)


def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Count, sum, sum of squares and shift along `axes`: what moments of parts are computed from."""
    keep = bool(renamed("keepdims", keepdims, "keep_dims", keep_dims))
    axes = sorted(axes)
    with name_scope(name, "sufficient_statistics", [x]):
        x = convert_to_tensor(x, name="x")
        sizes = [x.shape[d].value for d in axes]
        if None in sizes:
            shape = ops.shape_of(x, out_type=int32, name="Shape")
            count = ops.cast(ops.reduce_prod(ops.gather(shape, np.array(axes, np.int32))), dtype=x.dtype)
            count_more(x.graph, 1)  # the axes of the product
        else:
            count = convert_to_tensor(float(np.prod(sizes)), dtype=x.dtype, name="count")
        shift = None if shift is None else convert_to_tensor(shift, dtype=x.dtype, name="shift")
        total = reduce_sum(x if shift is None else x - shift, axes, keepdims=keep, name="mean_ss")
        squares = ops.square(x) if shift is None else ops.squared_difference(x, shift)
        return count, total, reduce_sum(squares, axes, keepdims=keep, name="var_ss"), shift


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from what `sufficient_statistics` gives."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss]):
        divisor = ops.reciprocal(counts)
        mean = mean_ss * divisor
        variance = ops.subtract(variance_ss * divisor, ops.square(mean), name="variance")
        return (mean if shift is None else mean + shift), variance


def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + variance_epsilon) * scale + offset; `scale` and `offset` may be None.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 4])
    >>> mean, variance = sg.nn.moments(x, [0])
    >>> sg.nn.batch_normalization(x, mean, variance, None, None, 1e-3).name
    'batchnorm/add_1:0'
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        x = convert_to_tensor(x)
        inverse = ops.rsqrt(variance + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        scaled = x * of_dtype(inverse, x.dtype)
        shift = offset - mean * inverse if offset is not None else -mean * inverse
        return scaled + of_dtype(shift, x.dtype)


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """`batch_normalization` under an older name; `gamma` counts only with `scale_after_normalization`."""
    x, center, spread = (
        renamed("input", input, "t", t),
        renamed("mean", mean, "m", m),
        renamed("variance", variance, "v", v),
    )
    return batch_normalization(
        x, center, spread, beta, gamma if scale_after_normalization else None, variance_epsilon, name
    )


def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Images normalised per channel, and the mean and the variance of each channel.

    In training the moments are those of the batch (the variance that is
    returned is the unbiased one); otherwise they are `mean` and `variance`,
    which must be given. ValueError if they are given in training.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 8, 8, 3])
    >>> y, mean, variance = sg.nn.fused_batch_norm(x, sg.ones([3]), sg.zeros([3]))
    >>> y.shape.as_list(), mean.shape.as_list()
    ([None, 8, 8, 3], [3])
    """
    if is_training and (mean is not None or variance is not None):
        raise misuse(ValueError, "fused_batch_norm: mean and variance must be None in training")
    if not is_training and (mean is None or variance is None):
        raise misuse(
            ValueError, "fused_batch_norm: mean and variance must be given where is_training is False"
        )
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, name="scale")
    offset = convert_to_tensor(offset, name="offset")
    dtype = scale.dtype if mean is None else None
    mean = convert_to_tensor(np.zeros(0) if mean is None else mean, dtype=dtype)
    variance = convert_to_tensor(np.zeros(0) if variance is None else variance, dtype=dtype)
    epsilon = max(epsilon, 1.001e-5)  # TF1's floor, below which cuDNN does not go
    return ops.fused_batch_norm(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=epsilon,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )


def layer_normalization(
    x: Any,
    offset: Any = None,
    scale: Any = None,
    axes: Sequence[int] = (-1,),
    variance_epsilon: float = 1e-12,
    name: str | None = None,
) -> Tensor:
    """`batch_normalization` with the moments of each example along `axes` instead of those of the batch.

    >>> import staticgraph as sg
    >>> sg.nn.layer_normalization(sg.placeholder(sg.float32, [None, 4])).shape.as_list()
    [None, 4]
    """
    with name_scope(name, "layernorm", [x, offset, scale]):
        return standardized(convert_to_tensor(x), list(axes), offset, scale, variance_epsilon)


def standardized(
    x: Tensor,
    axes: Sequence[int],
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """Return `x` with mean 0 and variance 1 over `axes`, then scaled and shifted.

    It is computed in float32 for elements of 16 bits: their variance may be infinite in float16.

    Args:
        x: Any shape, floating.
        axes: The axes of which each position has a mean and a variance of its own elements.
        offset, scale: None, or of shapes that broadcast with that of `x`.
        variance_epsilon: Added to the variance.
        name: The scope of what follows the moments.
    """
    wide = widened(x)
    mean, variance = moments(wide, list(axes), keepdims=True)
    offset, scale = (v if v is None else of_dtype(convert_to_tensor(v), wide.dtype) for v in (offset, scale))
    made = batch_normalization(wide, mean, variance, offset, scale, variance_epsilon, name)
    return of_dtype(made, x.dtype)


def local_response_normalization(
    input: Any,
    depth_radius: int = 5,
    bias: float = 1,
    alpha: float = 1,
    beta: float = 0.5,
    name: str | None = None,
) -> Tensor:
    """input / (bias + alpha * s) ** beta, s summing the squares of `depth_radius` channels on either side."""
    return ops.local_response_normalization(
        input, depth_radius=depth_radius, bias=float(bias), alpha=float(alpha), beta=float(beta), name=name
    )


lrn = local_response_normalization


def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """`x` with each element set to 0 with probability `rate`
    = 1 - `keep_prob`, the others divided by `keep_prob`.

    Elements are kept or dropped together along the axes where `noise_shape` has size 1. ValueError for a
    `rate` outside [0, 1), TypeError for integers.

    >>> import staticgraph as sg
    >>> sg.nn.dropout(sg.placeholder(sg.float32, [None, 8]), keep_prob=0.5).name
    'dropout/mul_1:0'
    """
    rate = renamed("rate", rate, "keep_prob", None if keep_prob is None else 1.0 - keep_prob)
    if rate is None:
        raise misuse(ValueError, "dropout needs a rate")
    with name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise misuse(ValueError, f"dropout: x must be floating, it is {x.dtype}")
        if isinstance(rate, int | float | np.number) and not 0 <= rate < 1:
            raise misuse(ValueError, f"dropout: rate is {rate}, it must be in [0, 1)")
        if isinstance(rate, int | float | np.number) and rate == 0:
            return snapshot(x)
        rate = convert_to_tensor(rate, dtype=x.dtype, name="rate")
        if static_value(rate) == 0:
            return snapshot(x)
        noise = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype)
        scale = 1.0 / (1.0 - rate)
        kept = ops.cast(ops.greater_equal(noise, rate), dtype=x.dtype)
        dropped = x * scale * kept
        dropped.set_shape(x.shape)
        return dropped


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """The shape of the random numbers; None in `noise_shape` stands for the size of `x`."""
    if noise_shape is None:
        return ops.shape_of(x, out_type=int32, name="Shape")
    if isinstance(noise_shape, Tensor) or not hasattr(noise_shape, "__iter__"):
        return noise_shape
    sizes = [getattr(n, "value", n) for n in noise_shape]
    known = (
        zip(sizes, x.shape.as_list(), strict=True)
        if len(sizes) == x.shape.ndims
        else ((n, None) for n in sizes)
    )
    return [(size_of(x, axis) if m is None else m) if n is None else n for axis, (n, m) in enumerate(known)]
