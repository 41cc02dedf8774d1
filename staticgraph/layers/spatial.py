"""Convolution and pooling over one, two or three axes of space, for inputs in either order of axes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from staticgraph import nn
from staticgraph.compiler import ops
from staticgraph.compiler.graph.checks.arguments import text_of
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.nn.convolutions import spreading_to_batch
from staticgraph.state.layer import count_of

_FORMATS = {
    ("channels_last", 1): "NWC",
    ("channels_last", 2): "NHWC",
    ("channels_last", 3): "NDHWC",
    ("channels_first", 1): "NCW",
    ("channels_first", 2): "NCHW",
    ("channels_first", 3): "NCDHW",
}
# Functions of `nn`, which imports their files when they are first used: no dense layer needs one.
_TRANSPOSES = {2: "conv2d_transpose", 3: "conv3d_transpose"}
_POOLINGS = {
    (2, "max"): "max_pool",
    (2, "avg"): "avg_pool",
    (3, "max"): "max_pool3d",
    (3, "avg"): "avg_pool3d",
}


def data_format_of(data_format: str, rank: int) -> str:
    """The order of axes in the words of `nn`: `NHWC` for channels_last over two axes."""
    key = text_of(data_format, "data_format").lower()
    if (key, rank) not in _FORMATS:
        raise misuse(ValueError, f"data_format={data_format!r} is not channels_last or channels_first")
    return _FORMATS[key, rank]


def sizes_of(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """`rank` integers from one for all axes, or one each."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        return (count_of(value, name),) * rank
    sizes = tuple(count_of(n, name) for n in value)
    if len(sizes) != rank:
        raise misuse(ValueError, f"{name}={value!r} must be one integer or {rank} integers")
    return sizes


def per_axis(space: Any, rank: int, order: str) -> list[int]:
    """One number per axis of the input: those of `space`, and 1 for batch and channels."""
    sizes = [space] * rank if isinstance(space, int) else list(space)
    return [1, *sizes, 1] if order.endswith("C") else [1, 1, *sizes]


def convolve(x: Any, kernel: Any, strides: Any, padding: str, data_format: str, dilation: Any) -> Tensor:
    """A convolution over as many axes of space as the kernel has.

    `padding`: "valid", "same", or for one axis "causal", which looks at the past only.
    """
    rank = len(kernel.shape) - 2
    order = data_format_of(data_format, rank)
    if padding.lower() == "causal" and rank == 1:
        rate = dilation if isinstance(dilation, int) else dilation[0]
        before = [rate * (kernel.shape.as_list()[0] - 1), 0]
        pairs = [[0, 0], before, [0, 0]] if order.endswith("C") else [[0, 0], [0, 0], before]
        x, padding = ops.pad(x, paddings=pairs), "valid"
    steps, rates = per_axis(strides, rank, order), per_axis(dilation, rank, order)
    apart = spreading_to_batch(x, padding, dilation, order)
    count_more(get_default_graph(), apart - 1 if apart else 0)
    convolution = getattr(nn, f"conv{rank}d")
    return convolution(x, kernel, steps, padding.upper(), data_format=order, dilations=rates)


def convolve_transposed(
    x: Any, kernel: Any, output_shape: Any, strides: Any, padding: str, data_format: str, dilation: Any = 1
) -> Tensor:
    """The transpose of a convolution over two or three axes; `output_shape` is a tensor."""
    rank = len(kernel.shape) - 2
    order = data_format_of(data_format, rank)
    steps, rates = per_axis(strides, rank, order), per_axis(dilation, rank, order)
    transposed = getattr(nn, _TRANSPOSES[rank])
    return transposed(x, kernel, output_shape, steps, padding.upper(), order, dilations=rates)


def convolve_separably(
    x: Any, depthwise: Any, pointwise: Any, strides: Any, padding: str, data_format: str, dilation: Any
) -> Tensor:
    """A convolution of each channel by itself, then one over all channels, over one or two axes."""
    rank = len(depthwise.shape) - 2
    if rank == 1:
        axis = 1 if data_format == "channels_last" else 2
        wide, deep, flat = (
            ops.expand_dims(t, axis=a) for t, a in ((x, axis), (depthwise, 0), (pointwise, 0))
        )
        steps, rates = (strides[0], strides[0]), (1, dilation[0])
        made = convolve_separably(wide, deep, flat, steps, padding, data_format, rates)
        return ops.squeeze(made, axis=(axis,))
    order = data_format_of(data_format, 2)
    return nn.separable_conv2d(
        x,
        depthwise,
        pointwise,
        per_axis(strides, 2, order),
        padding.upper(),
        rate=list(dilation),
        data_format=order,
    )


def pool(x: Any, size: Any, strides: Any, padding: str, data_format: str, mode: str) -> Tensor:
    """The largest element ("max") or the mean ("avg") of each window, over as many axes as `size` has.

    One axis is pooled as a plane that is one element high.
    """
    rank = len(size)
    if rank == 1:
        space = 2 if data_format == "channels_last" else 3
        wide = ops.expand_dims(x, axis=space)
        return ops.squeeze(pool(wide, (*size, 1), (*strides, 1), padding, data_format, mode), axis=(space,))
    if mode not in ("max", "avg"):
        raise misuse(ValueError, f"pool_mode={mode!r} is not max or avg")
    order = data_format_of(data_format, rank)
    windows, steps = per_axis(size, rank, order), per_axis(strides, rank, order)
    return getattr(nn, _POOLINGS[rank, mode])(x, windows, steps, padding.upper(), order)
