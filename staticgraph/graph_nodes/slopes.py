"""Nodes that are the derivative of one of our public functions."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.graph_def.nodes import GraphDefError, Node, constant, reads
from staticgraph.graph_def.read_gradients import derivative
from staticgraph.graph_nodes.quantized import limits
from staticgraph.nn.ctc import ctc_loss
from staticgraph.sparse.tensor import SparseTensor

__all__: list[str] = []


@reads("MaxPool3DGrad")
def _max_pool3d(node: Node) -> Any:
    x, _, dy = node.tensors
    told = {key: node.attrs[key] for key in ("ksize", "strides", "padding", "data_format")}
    return derivative(node, ops.max_pool3d(x, **told), dy, x)


@reads("ResizeBicubicGrad")
def _resize_bicubic(node: Node) -> Any:
    dy, x = node.tensors
    size = ops.strided_slice(ops.shape_of(dy), [1], [3])
    return derivative(node, ops.resize_bicubic(x, size, **_resizing(node)), dy, x)


@reads("ResizeNearestNeighborGrad")
def _resize_nearest_neighbor(node: Node) -> Any:
    dy, given = node.tensors
    size = ops.shape_of(dy)
    dims = ops.concat([size[:1], given, size[3:]], axis=0)
    x = ops.fill(constant(0, dy.dtype), dims=dims)
    made = ops.resize_nearest_neighbor(x, size[1:3], **_resizing(node))
    return derivative(node, made, dy, x)


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
    size = ops.shape_of(like)[1:3]
    return ops.crop_and_resize(image, boxes, numbers, crop_size=size, method=node.attrs["method"])


@reads("CTCLoss")
def _ctc_loss(node: Node) -> Any:
    """The losses of a batch, and the derivative of each by its inputs."""
    inputs, indices, values, lengths = node.tensors
    longest = ops.reduce_max(indices[:, 1]) + 1
    batch = ops.cast(ops.shape_of(inputs)[1], dtype=int64)
    labels = SparseTensor(indices, values, ops.stack([batch, longest], axis=0))
    flags = ("preprocess_collapse_repeated", "ctc_merge_repeated", "ignore_longer_outputs_than_inputs")
    losses = ctc_loss(labels, inputs, lengths, **{key: node.attrs[key] for key in flags})
    slope = ops.symbolic_gradients([losses, ops.ones_like(losses), inputs, inputs], ys=1, seeds=1, xs=1)
    return ops.identity_n([losses, _only(slope)], name=node.out)


def _only(made: Any) -> Tensor:
    return made[0] if isinstance(made, tuple) else made


@reads("FakeQuantWithMinMaxArgsGradient")
def _between_numbers(node: Node) -> Any:
    dy, x = node.tensors
    low, high = (constant(node.attrs[key], x.dtype) for key in ("min", "max"))
    lowest, highest, _ = limits(node, low, high)
    inside = ops.logical_and(x >= lowest, x <= highest)
    return ops.select(inside, dy, ops.zeros_like(dy), name=node.out)


@reads("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient")
def _between_tensors(node: Node) -> Any:
    """What is inside of the limits goes to `x`, and what is outside to the limit that it came to."""
    dy, x, low, high = node.tensors
    lowest, highest, _ = limits(node, low, high)
    rank = x.type.rank
    if rank is None:
        raise GraphDefError("the number of axes of its input must be known")
    axes = list(range(rank - 1 if node.type.endswith("ChannelGradient") else rank))
    zero, below, above = ops.zeros_like(dy), x < lowest, x > highest
    inside = ops.logical_not(ops.logical_or(below, above))
    parts = [ops.select(inside, dy, zero)]
    parts += [ops.reduce_sum(ops.select(each, dy, zero), axis=axes) for each in (below, above)]
    return ops.identity_n(parts, name=node.out)
