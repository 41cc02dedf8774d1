"""Normalization: over a batch, a layer, an instance, a group, or neighbouring channels."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, constant, part, permuted, reshape, sizes


def _per_channel(x: Tensor, values: Tensor) -> Tensor:
    """A number per channel, which is the second axis, in a shape that goes with `x`."""
    return reshape(values, [-1] + [1] * (len(x.type.shape or ()) - 2))


def _moments(x: Tensor, axes: tuple[int, ...], keep: bool = True) -> tuple[Tensor, Tensor]:
    mean = ops.reduce_mean(x, axis=axes, keepdims=True)
    centred = x - mean
    variance = ops.reduce_mean(centred * centred, axis=axes, keepdims=keep)
    return (mean if keep else ops.reduce_mean(x, axis=axes)), variance


@operator("BatchNormalization")
def _batch_normalization(
    node: Node, x: Tensor, scale: Tensor, offset: Tensor, mean: Tensor, variance: Tensor
) -> Any:
    trains = node.get("training_mode") if node.version >= 14 else node.wants(1)
    running: tuple[Tensor, ...] = ()
    if trains:
        momentum = constant(node.get("momentum", 0.9), mean)
        rest = constant(1 - node.get("momentum", 0.9), mean)
        axes = (0, *range(2, node.rank(x)))
        old, (mean, variance) = (mean, variance), _moments(x, axes, keep=False)
        running = tuple(a * momentum + b * rest for a, b in zip(old, (mean, variance), strict=True))
    factor = scale * ops.rsqrt(variance + constant(node.get("epsilon", 1e-5), variance))
    shift = offset - mean * factor
    made = x * cast(_per_channel(x, factor), x.dtype) + cast(_per_channel(x, shift), x.dtype)
    return (made, *running)


@operator("LayerNormalization")
def _layer_normalization(
    node: Node, x: Tensor, scale: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    axes = tuple(range(node.axis(node.get("axis", -1), x), node.rank(x)))
    wide = cast(x, float32) if x.dtype.size < 4 else x
    mean, variance = _moments(wide, axes)
    inverse = ops.rsqrt(variance + constant(node.get("epsilon", 1e-5), wide))
    made = cast((wide - mean) * inverse, x.dtype) * scale
    return (made if bias is None else made + bias), mean, inverse


@operator("RMSNormalization")
def _rms_normalization(node: Node, x: Tensor, scale: Tensor) -> Tensor:
    axes = tuple(range(node.axis(node.get("axis", -1), x), node.rank(x)))
    wide = cast(x, float32) if x.dtype.size < 4 else x
    square = ops.reduce_mean(wide * wide, axis=axes, keepdims=True)
    return cast(wide * ops.rsqrt(square + constant(node.get("epsilon", 1e-5), wide)), x.dtype) * scale


@operator("InstanceNormalization")
def _instance_normalization(node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    mean, variance = _moments(x, tuple(range(2, node.rank(x))))
    normal = (x - mean) * ops.rsqrt(variance + constant(node.get("epsilon", 1e-5), x))
    return normal * _per_channel(x, scale) + _per_channel(x, bias)


@operator("GroupNormalization")
def _group_normalization(node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    groups = node.required("num_groups")
    shape = sizes(x)
    apart = reshape(x, [shape[0], groups, part(shape[1], groups), *shape[2:]])
    mean, variance = _moments(apart, tuple(range(2, len(shape) + 1)))
    normal = (apart - mean) * ops.rsqrt(variance + constant(node.get("epsilon", 1e-5), x))
    if node.version < 21:  # a number per group
        ones = [1] * (len(shape) - 1)
        return reshape(normal * reshape(scale, [groups, *ones]) + reshape(bias, [groups, *ones]), shape)
    return reshape(normal, shape) * _per_channel(x, scale) + _per_channel(x, bias)


@operator("LRN")
def _lrn(node: Node, x: Tensor) -> Tensor:
    """Divided by a power of the squares of the neighbouring channels."""
    size = node.required("size")
    rank = node.rank(x)
    alpha, beta, bias = (
        node.get(name, default) for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )
    before = (size - 1) // 2
    pairs = tuple((before, size - 1 - before) if axis == 1 else (0, 0) for axis in range(rank))
    if size < 1:
        raise OnnxError(f"its size is {size}, and must be at least 1")
    squares = ops.pad(x * x, paddings=pairs)
    last = permuted(squares, [0, *range(2, rank), 1])
    count = sizes(x)[1]
    total: Any = None
    for start in node.times(size):
        begin, whole = (0,) * (rank - 1) + (start,), [-1] * (rank - 1)
        rows = ops.slice(last, begin=begin, size=(*whole, count))
        total = rows if total is None else total + rows
    total = permuted(total, [0, rank - 1, *range(1, rank - 1)])
    return x / ops.pow(constant(bias, x) + constant(alpha / size, x) * total, constant(beta, x))
