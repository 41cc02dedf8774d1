"""Normalisation: softmax along an axis, response normalisation across channels, batch normalisation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, float32, int64
from staticgraph.compiler.graph.errors import DtypeError, OperandError, require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, merge, normalize_axis
from staticgraph.compiler.graph.sizes import AnySize, Size, is_open, positive
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Reduce, number
from staticgraph.compiler.ops.kinds import View, composite, windowed
from staticgraph.compiler.ops.samples import Sample, real

_SOFTMAX_SAMPLES = [
    Sample(real(3, 4)),
    Sample(real(2, 3, 4), axis=1),
    Sample(real(5, low=-100, high=100)),
    Sample(real(2, 1), axis=0),
    Sample(real(0, 3), axis=0),
]


def _softmax_type(logits: TensorType, axis: int) -> TensorType:
    if logits.rank is not None:
        require(logits.rank > 0, "logits is a scalar, at least one axis is needed")
        normalize_axis(axis, logits.rank, kind=OperandError)
    return logits


def _shifted(x: np.ndarray, axis: int) -> np.ndarray:
    wide = x.astype(np.float64)
    return wide - wide.max(axis=axis, keepdims=True, initial=-np.inf)


def _numpy_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(_shifted(x, axis))
    return (e / e.sum(axis=axis, keepdims=True)).astype(x.dtype)


def _numpy_log_softmax(x: np.ndarray, axis: int) -> np.ndarray:
    shifted = _shifted(x, axis)
    return (shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))).astype(x.dtype)


def _softmax_grad(g: Any, y: Any, x: Any, axis: int) -> tuple[Any]:
    return (y * (g - ops.reduce_sum(g * y, axis=axis, keepdims=True)),)


def _log_softmax_grad(g: Any, y: Any, x: Any, axis: int) -> tuple[Any]:
    return (g - ops.exp(y) * ops.reduce_sum(g, axis=axis, keepdims=True),)


def below_max(x: Any, axis: int) -> Any:
    """`x` minus its maximum along `axis`, so that exp cannot overflow."""
    return x - ops.reduce_max(x, axis=axis, keepdims=True)


@composite(
    tf="Softmax", wide=True, type=_softmax_type, numpy=_numpy_softmax, dtypes=FLOATING,
    samples=_SOFTMAX_SAMPLES, grad=_softmax_grad, grad_takes=(),
)
def softmax(logits: Any, *, axis: int = -1) -> Any:
    """exp(logits) / sum(exp(logits)) along `axis`."""
    e = ops.exp(below_max(logits, axis))
    return e / ops.reduce_sum(e, axis=axis, keepdims=True)


@composite(
    tf="LogSoftmax", wide=True, type=_softmax_type, numpy=_numpy_log_softmax, dtypes=FLOATING,
    samples=_SOFTMAX_SAMPLES, grad=_log_softmax_grad, grad_takes=(),
)
def log_softmax(logits: Any, *, axis: int = -1) -> Any:
    """logits - log(sum(exp(logits))) along `axis`."""
    shifted = below_max(logits, axis)
    return shifted - ops.log(ops.reduce_sum(ops.exp(shifted), axis=axis, keepdims=True))


def _numpy_band_sum(x: np.ndarray, radius: int) -> np.ndarray:
    radius = min(radius, max(x.shape[-1] - 1, 0))
    wide = np.pad(x.astype(np.float64), [(0, 0)] * (x.ndim - 1) + [(radius, radius)])
    n = x.shape[-1]
    return np.asarray(sum(wide[..., r : r + n] for r in range(2 * radius + 1))).astype(x.dtype)


def _band_type(x: TensorType, radius: int) -> TensorType:
    require(x.rank != 0, "a number has no last axis")
    require(radius >= 0, f"the radius is {radius}, and must not be negative")
    return x


@windowed(
    type=_band_type, numpy=_numpy_band_sum, dtypes=FLOATING,
    samples=[Sample(real(2, 7), radius=2), Sample(real(3), radius=5), Sample(real(2, 2, 4), radius=0)],
    grad=lambda g, y, x, radius: (ops.band_sum(g, radius=radius),),
)
def band_sum(at: tuple[Expr, ...], x: View, *, radius: int) -> Expr:
    """For each element the sum of those in the last axis that are at most `radius` away."""
    *outer, channel = at
    n = x.shape[-1]
    radius = min(radius, max(n - 1, 0))
    place = channel + Index("r", 2 * radius + 1) - radius
    inside = scalar.ge(place, 0) & scalar.lt(place, n)
    near = scalar.minimum(scalar.maximum(place, 0), number(n - 1, int64))
    return Reduce(
        (Index("r", 2 * radius + 1),), "add", scalar.select(inside, x[(*outer, near)], Const(0, x.dtype))
    )


def _numpy_lrn(x: np.ndarray, depth_radius: int, bias: float, alpha: float, beta: float) -> np.ndarray:
    wide = x.astype(np.float64)
    return (wide / (bias + alpha * _numpy_band_sum(wide**2, depth_radius)) ** beta).astype(x.dtype)


def numpy_lrn_grad(
    g: np.ndarray, x: np.ndarray, depth_radius: int, bias: float, alpha: float, beta: float
) -> np.ndarray:
    """The meaning of the derivative of `local_response_normalization`."""
    g64, x64 = g.astype(np.float64), x.astype(np.float64)
    norm = bias + alpha * _numpy_band_sum(x64**2, depth_radius)
    spread = _numpy_band_sum(g64 * x64 * norm ** (-beta - 1), depth_radius)
    return (g64 * norm**-beta - 2 * alpha * beta * x64 * spread).astype(x.dtype)


def _lrn_grad(
    g: Any, y: Any, x: Any, depth_radius: int, bias: float, alpha: float, beta: float
) -> tuple[Any]:
    norm = band_sum(x * x, radius=depth_radius) * alpha + bias
    spread = band_sum(g * x * norm ** (-beta - 1), radius=depth_radius)
    return (g * norm ** (-beta) - x * spread * (2 * alpha * beta),)


def lrn_type(input: TensorType, depth_radius: int, **numbers: float) -> TensorType:
    """Type rule of `local_response_normalization`."""
    for name, value in numbers.items():
        fits = isinstance(value, int | float) and abs(value) <= float(float32.max)
        require(fits, f"{name} is {value}, which is no float32 number")
    require(input.rank in (None, 4), f"input has rank {input.rank}, 4 is needed")
    return _band_type(input, depth_radius)


@composite(
    tf="LRN", wide=True, type=lrn_type, numpy=_numpy_lrn, dtypes=FLOATING, grad=_lrn_grad,
    samples=[Sample(real(1, 2, 2, 7), depth_radius=2),
             Sample(real(2, 1, 1, 4), depth_radius=5, bias=2.0, alpha=0.3, beta=0.75),
             Sample(real(1, 3, 2, 1), depth_radius=1)],
)
def local_response_normalization(
    input: Any, *, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5
) -> Any:
    """input / (bias + alpha * s) ** beta, s summing the squares of channels at most `depth_radius` away."""
    return input * (band_sum(input * input, radius=depth_radius) * alpha + bias) ** (-beta)


# Batch normalisation


def _batch_norm_type(
    x: TensorType, scale: TensorType, offset: TensorType, mean: TensorType, variance: TensorType,
    epsilon: float, data_format: str, is_training: bool,
) -> tuple[TensorType, TensorType, TensorType]:
    require(data_format in ("NHWC", "NCHW"), f"data_format {data_format!r} is neither 'NHWC' nor 'NCHW'")
    require(x.rank in (None, 4), f"x has rank {x.rank}, 4 is needed")
    require(
        scale.dtype is x.dtype or (scale.dtype is float32 and x.dtype.size == 2),
        f"x is {x.dtype} and scale is {scale.dtype}",
        hint="scale and offset have the dtype of x, or are float32 where x has 16 bits",
        kind=DtypeError,
    )
    shape = x.shape or (None,) * 4
    axis = 3 if data_format == "NHWC" else 1
    channels = merge((shape[axis],), scale.shape, "channels of x and of scale:")
    channels = merge(channels, offset.shape, "channels and those of offset:")
    if not is_training:
        channels = merge(channels, mean.shape, "channels and those of mean:")
        channels = merge(channels, variance.shape, "channels and those of variance:")
    assert channels is not None
    full = tuple(channels[0] if d == axis else n for d, n in enumerate(shape))
    per_channel = TensorType(scale.dtype, channels)
    return TensorType(x.dtype, full), per_channel, per_channel


def _numpy_batch_norm(
    x: np.ndarray, scale: np.ndarray, offset: np.ndarray, mean: np.ndarray, variance: np.ndarray,
    epsilon: float, data_format: str, is_training: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    images = x if data_format == "NHWC" else x.transpose(0, 2, 3, 1)
    wide = images.astype(np.float64)
    n = math.prod(wide.shape[:3])
    if is_training:
        mean, biased = wide.mean(axis=(0, 1, 2)), wide.var(axis=(0, 1, 2))
        variance = biased * n / max(n - 1, 1)
    else:
        biased = variance
    y = (wide - mean) / np.sqrt(biased + epsilon) * scale + offset
    y = y if data_format == "NHWC" else y.transpose(0, 3, 1, 2)
    return y.astype(x.dtype), mean.astype(scale.dtype), variance.astype(scale.dtype)


_SAMPLED = 16  # images, of which one is in the sample


class _Channels:
    """Statistics per channel of an image batch, laid out to broadcast against it."""

    def __init__(self, x: Any, data_format: str) -> None:
        self.axes = (0, 1, 2) if data_format == "NHWC" else (0, 2, 3)
        shape = x.type.shape
        self.shape = tuple(1 if d in self.axes else -1 if n is None else n for d, n in enumerate(shape))
        if all(shape[d] is not None for d in self.axes):
            self.count: Any = math.prod(shape[d] for d in self.axes)
        else:
            count = ops.reduce_prod(ops.gather(ops.shape_of(x), list(self.axes)))
            self.count = ops.cast(count, dtype=x.dtype)

    def beside(self, vector: Any) -> Any:
        """A vector of channels in a shape that broadcasts against the images."""
        return ops.reshape(vector, shape=self.shape)

    def vector(self, statistic: Any) -> Any:
        return ops.reshape(statistic, shape=(statistic.size,))

    def mean(self, x: Any) -> Any:
        return ops.reduce_mean(x, axis=self.axes, keepdims=True)

    def total(self, x: Any) -> Any:
        return ops.reduce_sum(x, axis=self.axes)

    def moments(self, x: Any) -> tuple[Any, Any]:
        """Mean and biased variance from one pass over `x`.

        The variance is E[d * d] - E[d] ** 2, where d is the distance to the mean of one image in n. Whatever
        `x` holds, that mean is at most sqrt(n) deviations from the mean of all, so the difference costs at
        most a factor n of the accuracy of the sums; for most images it costs nothing.
        """
        near = ops.stop_gradient(self.mean(self.sample(x)))  # the results do not depend on it
        near = ops.select(ops.is_finite(near), near, ops.zeros_like(near))
        distances = x - near
        offset = self.mean(distances)
        variance = self.mean(distances * distances) - offset * offset
        below = ops.stop_gradient(ops.maximum(-variance, ops.zeros_like(variance)))  # by rounding
        return near + offset, variance + below

    def sample(self, x: Any) -> Any:
        """One image in 16: with all its rows, so that kernels for images of other sizes share code."""
        everywhere, nothing = (1 << 4) - 1, (0,) * 4
        return ops.strided_slice(
            x,
            begin=nothing,
            end=nothing,
            strides=(_SAMPLED, 1, 1, 1),
            begin_mask=everywhere,
            end_mask=everywhere,
        )


def _batch_norm_grad(
    g: Any, y: Any, x: Any, scale: Any, offset: Any, mean: Any, variance: Any,
    epsilon: float, data_format: str, is_training: bool,
) -> tuple[Any, ...]:
    wide, narrow = scale.dtype, x.dtype
    x = ops.cast(x, dtype=wide)
    over = _Channels(x, data_format)
    center, spread = over.moments(x) if is_training else (over.beside(mean), over.beside(variance))
    inverse = ops.rsqrt(spread + epsilon)
    centered, weight = x - center, over.beside(scale)
    dy = ops.cast(g[0], dtype=wide) if g[0] is not None else ops.zeros_like(x)
    d_scale, d_offset = over.total(dy * centered * inverse), over.total(dy)
    if not is_training:
        d_mean = -over.total(dy * weight * inverse)
        d_variance = over.total(dy * weight * centered * (-0.5 * inverse * inverse * inverse))
        d_mean = d_mean if g[1] is None else d_mean + g[1]
        d_variance = d_variance if g[2] is None else d_variance + g[2]
        return ops.cast(dy * weight * inverse, dtype=narrow), d_scale, d_offset, d_mean, d_variance
    along = centered * inverse * inverse * over.mean(dy * centered)
    dx = weight * inverse * (dy - over.mean(dy) - along)
    if g[1] is not None:
        dx = dx + over.beside(g[1]) / over.count
    if g[2] is not None:
        others = over.count - 1
        if isinstance(others, int | Size):
            share = _ratio(x, 2, positive(others))
        else:  # in a graph that leaves sizes open
            share = 2 / ops.maximum(others, 1)
        dx = dx + over.beside(g[2]) * centered * share
    return ops.cast(dx, dtype=narrow), d_scale, d_offset, None, None


def _ratio(x: Any, a: AnySize, b: AnySize) -> Any:
    """Return a / b as a factor for `x`; if one of them is open, it is computed in the run."""
    if not is_open((a, b)):
        return a / b
    return ops.realdiv(x.recorder.constant(a, x.dtype), x.recorder.constant(b, x.dtype))


def _used(count: int, is_training: bool, **_: Any) -> range:
    """Return the inputs that are looked at: in training the moments are those of the batch."""
    return range(3 if is_training else count)


@composite(
    tf="FusedBatchNormV3", wide=True, differentiable=_used, type=_batch_norm_type, numpy=_numpy_batch_norm,
    grad=_batch_norm_grad, grad_takes=(), vars={"scale": "U", "offset": "U", "mean": "U", "variance": "U"},
    dtypes={"T": FLOATING, "U": FLOATING},
    samples=[
        Sample(real(2, 3, 4, 2), real(2), real(2), real(0), real(0)),
        Sample(real(2, 3, 2, 4), real(3), real(3), real(0), real(0), data_format="NCHW", epsilon=0.01),
        Sample(real(2, 1, 3, 2), real(2), real(2), real(2), real(2, low=0.5, high=2.0), is_training=False),
    ],
)
def fused_batch_norm(
    x: Any, scale: Any, offset: Any, mean: Any, variance: Any, *,
    epsilon: float = 1e-3, data_format: str = "NHWC", is_training: bool = True,
) -> Any:
    """Images normalised per channel, and the mean and the variance.

    (x - mean) / sqrt(variance + epsilon) * scale + offset. Where `is_training`, the moments are those of the
    batch, `mean` and `variance` are not looked at, and the variance that is returned is the unbiased one.
    """
    over = _Channels(x, data_format)
    wide = ops.cast(x, dtype=scale.dtype)
    if is_training:
        center, spread = over.moments(wide)
        unbiased = _ratio(x, over.count, positive(over.count - 1))
        mean, variance = over.vector(center), over.vector(spread) * unbiased
    else:
        center, spread = over.beside(mean), over.beside(variance)
    y = (wide - center) * (ops.rsqrt(spread + epsilon) * over.beside(scale)) + over.beside(offset)
    return ops.cast(y, dtype=x.dtype), ops.identity(mean), ops.identity(variance)
