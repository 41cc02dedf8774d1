"""Nodes that TensorFlow's gradients are made of, in terms of our ops.

Where a derivative has a short formula, this is it. The others are the derivative of the op itself, taken
anew: equal parts of a graph are computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node, constant, reads

__all__: list[str] = []

_SELU_SCALE, _SELU_SCALED_ALPHA = 1.0507009873554804934193349852946, 1.7580993408473768599402175208123

# The derivative from the op's result, or from its input, and from that by the result.
_FORMULAS: dict[str, Callable[[Any, Any], Any]] = {
    "SigmoidGrad": lambda y, dy: dy * (y * (1.0 - y)),
    "TanhGrad": lambda y, dy: dy * (1.0 - ops.square(y)),
    "SqrtGrad": lambda y, dy: dy * 0.5 / y,
    "RsqrtGrad": lambda y, dy: dy * (-0.5 * y * ops.square(y)),
    "InvGrad": lambda y, dy: -dy * ops.square(y),
    "ReciprocalGrad": lambda y, dy: -dy * ops.square(y),
    "ReluGrad": lambda dy, x: _where(x > 0.0, dy),
    "Relu6Grad": lambda dy, x: _where(ops.logical_and(x > 0.0, x < 6.0), dy),
    "EluGrad": lambda dy, y: dy * _where(y < 0.0, y + 1.0, 1.0),
    "SeluGrad": lambda dy, y: dy * _where(y < 0.0, y + _SELU_SCALED_ALPHA, _SELU_SCALE),
    "SoftplusGrad": lambda dy, x: dy * ops.sigmoid(x),
    "SoftsignGrad": lambda dy, x: dy / ops.square(1.0 + ops.abs(x)),
}


def _where(condition: Any, x: Any, y: float = 0.0) -> Any:
    return ops.select(condition, x, y)


@reads(*_FORMULAS)
def _formula(node: Node) -> Any:
    return ops.identity(_FORMULAS[node.type](*node.tensors), name=node.out)


@reads("LeakyReluGrad")
def _leaky_relu(node: Node) -> Any:
    dy, x = node.tensors
    return ops.select(x > 0.0, dy, dy * node.attrs["alpha"], name=node.out)


def derivative(node: Node, y: Tensor, dy: Tensor, *xs: Tensor) -> Any:
    """The derivative of `y`, weighted with `dy`, by each of `xs` while the others stay as they are: the
    operation that stands for a node.
    """
    return ops.symbolic_gradients([y, dy, *xs, *xs], ys=1, seeds=1, xs=len(xs), name=node.out)


@reads("BiasAddGrad")
def _bias_add(node: Node) -> Any:
    [dy] = node.tensors
    rank = dy.type.rank
    if rank is None:
        raise GraphDefError("the number of axes of its input must be known")
    channel = 1 if node.attrs["data_format"] == "NCHW" else rank - 1
    axes = [axis for axis in range(rank) if axis != channel]
    return ops.reduce_sum(dy, axis=axes, name=node.out)


@reads("MaxPoolGrad", "MaxPool3DGrad")
def _max_pool(node: Node) -> Any:
    x, _, dy = node.tensors
    pool = ops.max_pool if node.type == "MaxPoolGrad" else ops.max_pool3d
    told = {key: node.attrs[key] for key in ("ksize", "strides", "padding", "data_format")}
    return derivative(node, pool(x, **told), dy, x)


@reads("LRNGrad")
def _lrn(node: Node) -> Any:
    dy, x, _ = node.tensors
    told = {key: node.attrs[key] for key in ("depth_radius", "bias", "alpha", "beta")}
    return derivative(node, ops.local_response_normalization(x, **told), dy, x)


@reads("StridedSliceGrad")
def _strided_slice(node: Node) -> Any:
    shape, begin, end, strides, dy = node.tensors
    masks = {key: value for key, value in node.attrs.items() if key.endswith("_mask")}
    x = ops.fill(constant(0, dy.dtype), dims=shape)
    return derivative(node, ops.strided_slice(x, begin, end, strides, **masks), dy, x)


@reads("MirrorPadGrad")
def _mirror_pad(node: Node) -> Any:
    dy, paddings = node.tensors
    around = ops.reduce_sum(paddings, axis=1)
    x = ops.fill(constant(0, dy.dtype), dims=ops.shape_of(dy) - ops.cast(around, dtype=int32))
    return derivative(node, ops.mirror_pad(x, paddings, mode=node.attrs["mode"]), dy, x)


@reads("ResizeBilinearGrad", "ResizeBicubicGrad")
def _resize(node: Node) -> Any:
    dy, x = node.tensors
    resize = ops.resize_bilinear if node.type == "ResizeBilinearGrad" else ops.resize_bicubic
    return derivative(node, resize(x, _size(dy), **_resizing(node)), dy, x)


@reads("ResizeNearestNeighborGrad")
def _resize_nearest_neighbor(node: Node) -> Any:
    dy, size = node.tensors
    whole = ops.shape_of(dy)
    dims = ops.concat([whole[:1], size, whole[3:]], axis=0)
    x = ops.fill(constant(0, dy.dtype), dims=dims)
    return derivative(node, ops.resize_nearest_neighbor(x, _size(dy), **_resizing(node)), dy, x)


def _size(images: Tensor) -> Tensor:
    """The height and width of images."""
    return ops.strided_slice(ops.shape_of(images), [1], [3])


def _resizing(node: Node) -> dict[str, Any]:
    return {key: node.attrs[key] for key in ("align_corners", "half_pixel_centers")}


@reads("CropAndResizeGradImage")
def _crop_and_resize_image(node: Node) -> Any:
    dy, boxes, numbers, size = node.tensors
    image = ops.fill(constant(0, node.attrs["T"]), dims=size)
    return derivative(node, _cropped(node, image, boxes, numbers, dy), dy, image)


@reads("CropAndResizeGradBoxes")
def _crop_and_resize_boxes(node: Node) -> Any:
    dy, image, boxes, numbers = node.tensors
    return derivative(node, _cropped(node, image, boxes, numbers, dy), dy, boxes)


def _cropped(node: Node, image: Tensor, boxes: Tensor, numbers: Tensor, like: Tensor) -> Tensor:
    return ops.crop_and_resize(image, boxes, numbers, crop_size=_size(like), method=node.attrs["method"])


@reads("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _batch_norm(node: Node) -> Any:
    y, mean, variance = ops.fused_batch_norm(*node.tensors, **_normalizing(node), name=node.out)
    kept = (mean, variance, mean, variance, mean)
    return (y, *kept[: len(node.signature.outputs) - 1])


@reads("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def _batch_norm_grad(node: Node) -> Any:
    dy, x, scale, mean, variance, *_ = node.tensors
    offset = ops.zeros_like(scale)
    moments = ops.stop_gradient(mean), ops.stop_gradient(variance)
    y = ops.fused_batch_norm(x, scale, offset, *moments, **_normalizing(node))[0]
    return (*derivative(node, y, dy, x, scale, offset), mean, variance)


def _normalizing(node: Node) -> dict[str, Any]:
    return {key: node.attrs[key] for key in ("epsilon", "data_format", "is_training")}
