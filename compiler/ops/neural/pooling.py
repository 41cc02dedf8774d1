"""Pooling: the largest element, or the mean, of each window that slides over the input.

`ksize` and `strides` have an entry per axis, in whatever order the data format has them, so that one formula
serves all formats and ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, REAL, float32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.graph.shapes import TensorType, merge, operand_shape
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr
from staticgraph.compiler.ops.kinds import View, composite, sizes, windowed
from staticgraph.compiler.ops.neural.max_pool_gradient import max_pool_gradient, max_pool_number, numpy_number
from staticgraph.compiler.ops.neural.pooling_windows import (
    Ints,
    add_at_tap,
    at_tap,
    combined,
    inside_count,
    look_back,
    look_in,
    numpy_max,
    numpy_taps,
    pool_windows,
    when,
)
from staticgraph.compiler.ops.neural.windows import pooled_shape
from staticgraph.compiler.ops.samples import Draw, Sample, distinct, real

FORMATS = ("NHWC", "NCHW", "NDHWC", "NCDHW")


def pooled_type(x: TensorType, ksize: Ints, strides: Ints, padding: str, data_format: str) -> TensorType:
    """Type rule of pooling."""
    require(data_format in FORMATS, f"data_format {data_format!r} is none of {', '.join(FORMATS)}")
    rank = len(data_format)
    require(x.rank in (None, rank), f"the input has rank {x.rank}, {rank} is needed for {data_format}")
    return TensorType(x.dtype, pooled_shape(x.shape or (None,) * rank, ksize, strides, padding))


def _divided(total: Expr, count: Any) -> Expr:
    if isinstance(count, int) and count & (count - 1) == 0:
        return total * Const(1 / count, total.dtype)  # exact
    return total / (scalar.cast(count, total.dtype) if isinstance(count, Expr) else Const(count, total.dtype))


def _reciprocal(count: Any, like: Expr) -> Expr:
    """1 / count. Where counts differ it is the same for all channels."""
    if isinstance(count, Expr):
        return Const(1, like.dtype) / scalar.cast(count, like.dtype)
    return Const(1 / count, like.dtype)


def _numpy_counts(shape: Ints, ksize: Ints, strides: Ints, padding: str) -> Any:
    ones = np.ones(shape)
    return sum(at_tap(ones, places, 0.0) for _, places in numpy_taps(shape, ksize, strides, padding))


def _numpy_mean(x: np.ndarray, ksize: Ints, strides: Ints, padding: str, data_format: str) -> np.ndarray:
    wide = x.astype(np.float64)
    total = sum(at_tap(wide, places, 0.0) for _, places in numpy_taps(x.shape, ksize, strides, padding))
    return np.asarray(total / _numpy_counts(x.shape, ksize, strides, padding)).astype(x.dtype)


def _numpy_mean_grad(
    g: np.ndarray, orig_input_shape: Ints, ksize: Ints, strides: Ints, padding: str, data_format: str
) -> np.ndarray:
    out = np.zeros(orig_input_shape)
    shares = g / _numpy_counts(orig_input_shape, ksize, strides, padding)
    for _, places in numpy_taps(orig_input_shape, ksize, strides, padding):
        add_at_tap(out, places, shares)
    return out.astype(g.dtype)


def _samples(draw: Callable[..., Draw], rank: int) -> list[Sample]:
    if rank == 5:
        return [
            Sample(draw(1, 4, 4, 6, 2), ksize=(1, 2, 2, 2, 1), strides=(1, 2, 2, 2, 1), padding="VALID"),
            Sample(draw(1, 3, 4, 5, 1), ksize=(1, 2, 3, 2, 1), strides=(1, 1, 2, 2, 1), padding="SAME"),
            Sample(
                draw(1, 2, 3, 2, 4), ksize=(1, 1, 2, 1, 3), strides=(1, 1, 1, 2, 1), padding="SAME",
                data_format="NCDHW",
            ),
        ]
    return [
        Sample(draw(2, 4, 6, 3), ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID"),
        Sample(draw(1, 7, 5, 2), ksize=(1, 3, 3, 1), strides=(1, 2, 2, 1), padding="SAME"),
        Sample(
            draw(1, 2, 5, 6), ksize=(1, 1, 3, 2), strides=(1, 1, 1, 3), padding="SAME", data_format="NCHW"
        ),
        Sample(draw(1, 6, 5, 1), ksize=(1, 2, 1, 1), strides=(1, 3, 2, 1), padding="VALID"),
    ]


def _max_pool(rank: int, name: str, tf: str, default: str) -> OpDef:
    @windowed(
        name=name, tf=tf, type=pooled_type, numpy=numpy_max, dtypes=REAL, samples=_samples(distinct, rank),
        grad=max_pool_gradient,
    )
    def pool(
        at: tuple[Expr, ...],
        input: View,
        *,
        ksize: Ints,
        strides: Ints,
        padding: str,
        data_format: str = default,
    ) -> Expr:
        """The largest element of each window; padding does not count.

        The first of equal ones gets the gradient.
        """
        taps, places, _ = look_in(at, pool_windows(input.shape, ksize, strides, padding))
        return combined(taps, "maximum", input[tuple(places)])

    return pool


def _backward_sample(forward: Sample) -> Sample:
    """Return a sample of the gradient: the cotangent has a number for each window."""
    shape, attrs = forward.draws[0].shape, forward.attrs
    windows = pool_windows(shape, attrs["ksize"], attrs["strides"], attrs["padding"])
    return Sample(real(*(w.count for w in windows)), orig_input_shape=shape, **attrs)


def _avg_pool(rank: int, name: str, tf: str, default: str) -> tuple[OpDef, OpDef]:
    def back_type(g: TensorType, orig_input_shape: Any, **attrs: Any) -> TensorType:
        image = TensorType(g.dtype, operand_shape(orig_input_shape, "orig_input_shape"))
        merge(pooled_type(image, **attrs).shape, g.shape, "the result of pooling and grad,")
        return image

    @windowed(
        name=name, tf=tf, type=pooled_type, numpy=_numpy_mean, dtypes=FLOATING, samples=_samples(real, rank),
        grad=lambda g, y, x, **attrs: (back(g, orig_input_shape=sizes(x), **attrs),), grad_takes=(),
    )
    def pool(
        at: tuple[Expr, ...],
        value: View,
        *,
        ksize: Ints,
        strides: Ints,
        padding: str,
        data_format: str = default,
    ) -> Expr:
        """The mean of each window; padding does not count."""
        windows = pool_windows(value.shape, ksize, strides, padding)
        taps, places, inside = look_in(at, windows)
        wide = float32 if value.dtype.size == 2 else value.dtype  # the sum may be too large for 16 bits
        total = combined(taps, "add", when(inside, scalar.cast(value[tuple(places)], wide)))
        return scalar.cast(_divided(total, inside_count(at, windows)), value.dtype)

    @windowed(
        name=f"{name}_grad", tf=f"{tf}Grad", type=back_type, numpy=_numpy_mean_grad, dtypes=FLOATING,
        operands=("orig_input_shape",), partial=("orig_input_shape",),
        samples=[*map(_backward_sample, _samples(real, rank))],
        grad=lambda h, y, g, orig_input_shape, **attrs: (pool(h, **attrs),), grad_takes=(),
    )
    def back(
        at: tuple[Expr, ...], grad: View, *, orig_input_shape: Any, ksize: Ints, strides: Ints, padding: str,
        data_format: str = default,
    ) -> Expr:
        """Gradient of average pooling by its input, which has shape `orig_input_shape`.

        Each element of `grad` is shared among the elements of its window.
        """
        windows = pool_windows(orig_input_shape, ksize, strides, padding)
        steps, places, _, covers = look_back(at, windows)
        share = grad[tuple(places)]
        share = share * _reciprocal(inside_count(places, windows), share)
        return combined(steps, "add", when(covers, share))

    return pool, back


max_pool = _max_pool(4, "max_pool", "MaxPool", "NHWC")
max_pool3d = _max_pool(5, "max_pool3d", "MaxPool3D", "NDHWC")
avg_pool, avg_pool_grad = _avg_pool(4, "avg_pool", "AvgPool", "NHWC")
avg_pool3d, avg_pool3d_grad = _avg_pool(5, "avg_pool3d", "AvgPool3D", "NDHWC")


def _argmax_type(
    input: TensorType, ksize: Ints, strides: Ints, padding: str, include_batch_in_index: bool
) -> tuple[TensorType, TensorType]:
    pooled = pooled_type(input, ksize, strides, padding, "NHWC")
    return pooled, TensorType(int64, pooled.shape)


def _numpy_argmax(
    x: np.ndarray, ksize: Ints, strides: Ints, padding: str, include_batch_in_index: bool
) -> tuple[np.ndarray, np.ndarray]:
    y = numpy_max(x, ksize, strides, padding, "NHWC")
    return y, numpy_number(x, y, ksize, strides, padding, include_batch_in_index)


def _argmax_grad(g: Any, y: Any, x: Any, include_batch_in_index: bool, **attrs: Any) -> tuple[Any]:
    return max_pool_gradient(g[0], y[0], x, "NHWC", **attrs)


@composite(
    tf="MaxPoolWithArgmax", type=_argmax_type, numpy=_numpy_argmax, dtypes=REAL, grad=_argmax_grad,
    samples=[
        Sample(distinct(2, 4, 6, 3), ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID"),
        Sample(
            distinct(2, 5, 5, 2),
            ksize=(1, 3, 2, 1),
            strides=(1, 2, 1, 1),
            padding="SAME",
            include_batch_in_index=True,
        ),
        Sample(distinct(1, 2, 3, 1), ksize=(1, 2, 3, 1), strides=(1, 1, 1, 1), padding="VALID"),
    ],
)
def max_pool_with_argmax(
    input: Any, *, ksize: Ints, strides: Ints, padding: str, include_batch_in_index: bool = False
) -> Any:
    """Max pooling of NHWC images, and the number of each maximum among the elements of its image.

    With `include_batch_in_index` it is the number among the elements of the batch.
    """
    attrs = {"ksize": ksize, "strides": strides, "padding": padding}
    y = max_pool(input, **attrs)
    return y, max_pool_number(input, y, include_batch=include_batch_in_index, **attrs)
