"""Layers in ONNX: convolutions, pooling and normalisation, which ONNX has with channels first.

What comes with channels last is transposed once, and what they give stays with channels first until an op
needs it otherwise: between neighbours there are no transposes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import float32, float64, int64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.neural.convolution_layers import Layer
from staticgraph.compiler.ops.neural.windows import window
from staticgraph.formats.onnx.write.rules import Use, writes
from staticgraph.formats.onnx.write.value import Held, NoForm, Order, permuted


def _channels_first(rank: int, data_format: str) -> Order:
    """The order of the axes in the ONNX value."""
    return tuple(range(rank)) if data_format.startswith("NC") else (0, rank - 1, *range(1, rank - 1))


def _space(values: Sequence[Any], data_format: str) -> list[Any]:
    """Values of the spatial axes, of one value per axis."""
    return list(values[2:] if data_format.startswith("NC") else values[1:-1])


def _laid_out(type: TensorType, order: Order) -> TensorType:
    return type if type.shape is None else TensorType(type.dtype, permuted(type.shape, order))


def _padding(
    space: Sequence[int | None],
    taps: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    extra: Sequence[tuple[int, int]],
) -> dict[str, Any]:
    """The attributes that say how many zeros are around the input."""
    if padding == "VALID":
        return {}
    if padding == "SAME" and None in space:
        if set(taps) == {1}:  # no position of the window needs any
            return {}
        if any(k < s for k, s in zip(taps, strides, strict=True)):
            raise NoForm("where strides are larger than windows, the sizes of its input must be known")
        return {"auto_pad": "SAME_UPPER"}
    windows = [
        window(n or 0, k, s, d, padding, e)
        for n, k, s, d, e in zip(space, taps, strides, dilations, extra, strict=True)
    ]
    pads = [w.before for w in windows] + [w.after for w in windows]
    return {"pads": pads} if any(pads) else {}


@writes("conv2d", "conv3d", "depthwise_conv2d_native", keeps_order=True)
def _conv(use: Use, input: Held, filter: Held, **attrs: Any) -> Any:
    layer, order = Layer(**attrs), _channels_first(input.rank, attrs["data_format"])
    taps, weights, groups = _weights(use, filter)
    strides, dilations = layer.space(layer.strides), layer.space(layer.dilations)
    space = _space(input.type.shape or (), layer.data_format)
    made = use(
        "Conv",
        use.writer.ordered(input, order).kept,
        weights,
        type=_laid_out(use.type, order),
        kernel_shape=taps,
        strides=strides,
        dilations=dilations,
        group=groups,
        **_padding(space, taps, strides, dilations, layer.padding, layer.extra()),
    )
    return made.in_order(order)


def _weights(use: Use, filter: Held) -> tuple[list[int], Held, int]:
    """The taps of the filter, the filter as [outputs, inputs of a group, ...], and the number of groups."""
    shape, rank = filter.type.shape, filter.rank
    if shape is None or None in shape:
        raise NoForm("the sizes of its filter must be known")
    groups = 1
    if use.op.name.startswith("depthwise"):
        groups = int(shape[-2] or 0)
        filter = ops.reshape(filter, shape=(*shape[:-2], 1, groups * int(shape[-1] or 0)))
    moved = use.writer.ordered(use.writer.plain(filter), (rank - 1, rank - 2, *range(rank - 2))).kept
    return [int(n or 0) for n in shape[:-2]], moved, groups


@writes(
    "conv2d_backprop_input",
    "conv3d_backprop_input",
    "depthwise_conv2d_native_backprop_input",
    keeps_order=True,
)
def _conv_transpose(use: Use, filter: Held, out_backprop: Held, input_sizes: Any, **attrs: Any) -> Any:
    """The layer that goes the other way. Its weights are [inputs, outputs of a group, ...]: the same ones."""
    layer, order = Layer(**attrs), _channels_first(out_backprop.rank, attrs["data_format"])
    taps, weights, groups = _weights(use, filter)
    strides, dilations = layer.space(layer.strides), layer.space(layer.dilations)
    space = _space(use.type.shape or (), layer.data_format)
    given = _space(out_backprop.type.shape or (), layer.data_format)
    if not space or None in space or None in given:
        raise NoForm("the spatial sizes of its input and its result must be known")
    windows = layer.windows(tuple(space), tuple(taps))
    lacking = [
        n + w.before + w.after - (m - 1) * w.stride - w.reach - 1
        for n, m, w in zip(space, given, windows, strict=True)
    ]
    made = use(
        "ConvTranspose",
        use.writer.ordered(out_backprop, order).kept,
        weights,
        type=_laid_out(use.type, order),
        kernel_shape=taps,
        strides=strides,
        dilations=dilations,
        group=groups,
        pads=[w.before for w in windows] + [w.after for w in windows],
        output_padding=lacking,
    )
    return made.in_order(order)


@writes("max_pool", "max_pool3d", "avg_pool", "avg_pool3d", keeps_order=True)
def _pool(use: Use, x: Held, ksize: Any, strides: Any, padding: str, data_format: str) -> Any:
    order = _channels_first(x.rank, data_format)
    for values in (ksize, strides):
        if permuted(values, order)[:2] != (1, 1):
            raise NoForm("it has windows along batch or channels")
    taps, steps = _space(ksize, data_format), _space(strides, data_format)
    space = _space(x.type.shape or (), data_format)
    ones = [1] * len(taps)
    made = use(
        "MaxPool" if use.op.name.startswith("max") else "AveragePool",
        use.writer.ordered(x, order).kept,
        type=_laid_out(use.type, order),
        kernel_shape=taps,
        strides=steps,
        **_padding(space, taps, steps, ones, padding, [(0, 0)] * len(taps)),
    )
    return made.in_order(order)


@writes("max_pool_with_argmax")
def _pool_with_places(
    use: Use, input: Held, ksize: Any, strides: Any, padding: str, include_batch_in_index: bool
) -> Any:
    """ONNX counts the elements of an image channel by channel, we do pixel by pixel."""
    order, inner = (0, 3, 1, 2), TensorType(int64, use.types[1].shape)
    taps, steps = list(ksize[1:-1]), list(strides[1:-1])
    space: list[Any] = list((input.type.shape or (None,))[1:-1])
    if not space or None in space:
        raise NoForm("the spatial sizes of its input must be known")
    largest, places = use.several(
        "MaxPool",
        use.writer.ordered(input, order).kept,
        types=[_laid_out(t, order) for t in (use.type, inner)],
        kernel_shape=taps,
        strides=steps,
        **_padding(space, taps, steps, [1, 1], padding, [(0, 0)] * 2),
    )
    pixels, channels = space[0] * space[1], input.shape[3]
    places = use.writer.plain(places.in_order(order)) % pixels * channels + np.arange(channels)
    if include_batch_in_index:
        images = ops.range(0, input.shape[0], 1, dtype=int64) * (pixels * channels)
        places = places + ops.reshape(images, shape=(-1, 1, 1, 1))
    return largest.in_order(order), use.writer.cast(places, use.types[1].dtype)


@writes("fused_batch_norm", keeps_order=True)
def _batch_norm(
    use: Use,
    x: Held,
    scale: Held,
    offset: Held,
    mean: Held,
    variance: Held,
    epsilon: float,
    data_format: str,
    is_training: bool,
) -> Any:
    if is_training or x.dtype is not scale.dtype or x.dtype is float64:  # of its epsilon, ONNX keeps 24 bits
        vectors = (scale, offset, mean, variance)
        return use.by_definition(
            x, *vectors, epsilon=epsilon, data_format=data_format, is_training=is_training
        )
    order = _channels_first(x.rank, data_format)
    made = use(
        "BatchNormalization",
        use.writer.ordered(x, order).kept,
        scale,
        offset,
        mean,
        variance,
        type=_laid_out(use.type, order),
        epsilon=epsilon,
    )
    return made.in_order(order), mean, variance


@writes("local_response_normalization", keeps_order=True)
def _lrn(use: Use, input: Held, depth_radius: int, bias: float, alpha: float, beta: float) -> Any:
    if input.dtype is not float32:
        return use.by_definition(input, depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta)
    order, size = _channels_first(input.rank, "NHWC"), 2 * depth_radius + 1
    made = use(
        "LRN",
        use.writer.ordered(input, order).kept,
        type=_laid_out(use.type, order),
        size=size,
        alpha=float(alpha * size),
        beta=float(beta),
        bias=float(bias),
    )
    return made.in_order(order)


@writes("band_sum")
def _band_sum(use: Use, x: Held, radius: int) -> Any:
    """The mean of a window along the last axis, times its size."""
    size = 2 * radius + 1
    rows = ops.reshape(x, shape=(-1, 1, 1, x.shape[-1]))
    mean = use(
        "AveragePool",
        rows,
        type=rows.type,
        kernel_shape=[1, size],
        pads=[0, radius, 0, radius],
        count_include_pad=1,
    )
    return ops.reshape(mean, shape=x.shape) * size


@writes("resize_bilinear", "resize_nearest_neighbor", keeps_order=True)
def _resize(use: Use, images: Held, size: Any, align_corners: bool, half_pixel_centers: bool) -> Any:
    """Images of another size. Of two pixels that are equally near, the later one counts."""
    nearest = use.op.name == "resize_nearest_neighbor"
    if images.dtype is not float32:
        return use.by_definition(
            images, size=size, align_corners=align_corners, half_pixel_centers=half_pixel_centers
        )
    order = (0, 3, 1, 2)
    places = "align_corners" if align_corners else "half_pixel" if half_pixel_centers else "asymmetric"
    rounding = "floor" if places == "asymmetric" else "round_prefer_ceil"
    sizes = use.writer.vector((images.shape[0], images.shape[3], *use.writer.entries(size)))
    made = use(
        "Resize",
        use.writer.ordered(images, order).kept,
        None,
        None,
        sizes,
        type=_laid_out(use.type, order),
        mode="nearest" if nearest else "linear",
        coordinate_transformation_mode=places,
        nearest_mode=rounding if nearest else None,
    )
    return made.in_order(order)


@writes("softmax", "log_softmax")
def _softmax(use: Use, logits: Held, axis: int) -> Any:
    return use("Softmax" if use.op.name == "softmax" else "LogSoftmax", logits, axis=axis)
