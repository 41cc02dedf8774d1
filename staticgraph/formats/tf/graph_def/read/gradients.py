"""Nodes that TensorFlow's gradients are made of and that are no ops here: the derivative of the op itself,
taken anew. Equal parts of a graph are computed once.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.graph_def.nodes import Node, constant, reads


@reads("SoftplusGrad")
def _softplus(node: Node) -> Any:
    dy, x = node.tensors
    return ops.multiply(dy, ops.sigmoid(x), name=node.out)


def derivative(node: Node, y: Tensor, dy: Tensor, *xs: Tensor) -> Any:
    """The derivative of `y`, weighted with `dy`, by each of `xs` while the others stay as they are: the
    operation that stands for a node.
    """
    return ops.symbolic_gradients([y, dy, *xs, *xs], ys=1, seeds=1, xs=len(xs), name=node.out)


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
    x, scale, offset, *moments = node.tensors
    normalizing = {**_normalizing(node), "name": node.out}
    y, mean, variance = ops.fused_batch_norm(x, scale, offset, moments[0], moments[1], **normalizing)
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
