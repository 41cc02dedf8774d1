"""Numbers stored as small integers: quantization, and products of such numbers."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, float32, float64, int32, uint8
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.read.convolution import convolution, with_bias
from staticgraph.formats.onnx.read.nn import multiplied
from staticgraph.formats.onnx.values import cast, constant, reshape, sizes


def _along(node: Node, x: Tensor, values: Tensor, axis: int) -> Tensor:
    """Scales or zero points in a shape that goes with `x`: one, or one per place on an axis, or per block."""
    rank = node.rank(values)
    if rank == 0 or node.shape(values) == (1,):
        return reshape(values, [])
    if rank == 1:
        return reshape(values, [-1] + [1] * (node.rank(x) - 1 - axis))
    block = node.get("block_size", 0)
    if not block:
        return values
    have = node.sizes(x)
    repeated = ops.tile(
        ops.expand_dims(values, axis=axis + 1),
        multiples=tuple(block if i == axis + 1 else 1 for i in range(rank + 1)),
    )
    whole = [n * block if i == axis else n for i, n in enumerate(node.sizes(values))]
    return ops.slice(reshape(repeated, whole), begin=(0,) * rank, size=have)


def rounded(x: Tensor, zero: Tensor | None, dtype: DType) -> Tensor:
    """Floating numbers as the nearest integers of a type, ties to even, counted from a zero point."""
    whole = ops.rint(x)
    if zero is not None:
        whole = whole + cast(zero, x.dtype)
    low, high = constant(dtype.min, x), constant(dtype.max, x)
    return cast(ops.maximum(low, ops.minimum(high, whole)), dtype)


@operator("QuantizeLinear")
def _quantize(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    axis = node.axis(node.get("axis", 1), x) if node.rank(x) > 1 else 0
    number = node.get("output_dtype", 0)
    dtype = zero.dtype if zero is not None else node.element_type(number) if number else uint8
    factor = cast(_along(node, x, scale, axis), float32)
    point = None if zero is None else _along(node, x, zero, axis)
    return rounded(cast(x, float32) / factor, point, dtype)


@operator("DequantizeLinear")
def _dequantize(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    axis = node.axis(node.get("axis", 1), x) if node.rank(x) > 1 else 0
    number = node.get("output_dtype", 0)
    whole = cast(x, float32)
    if zero is not None:
        whole = whole - cast(_along(node, x, zero, axis), float32)
    made = whole * cast(_along(node, x, scale, axis), float32)
    return cast(made, node.element_type(number) if number else scale.dtype)


@operator("DynamicQuantizeLinear")
def _dynamic(node: Node, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The scale is such that zero and all elements fit into 8 bits."""
    nothing = constant(0, x)
    low, high = ops.minimum(nothing, ops.reduce_min(x)), ops.maximum(nothing, ops.reduce_max(x))
    scale = (high - low) / constant(255, x)
    zero = rounded(-low / scale, None, uint8)
    return rounded(x / scale, zero, uint8), scale, zero


def _centred(node: Node, x: Tensor, zero: Tensor | None, along: Any = None) -> Tensor:
    """Integers less their zero point, in a floating type that holds their products."""
    wide = cast(x, float64)
    if zero is None:
        return wide
    point = cast(zero, float64)
    if along is not None and node.rank(zero) == 1 and node.shape(zero) != (1,):
        point = reshape(point, along)
    elif node.shape(zero) == (1,):
        point = reshape(point, [])
    return wide - point


@operator("MatMulInteger")
def _matmul_integer(
    node: Node, a: Tensor, b: Tensor, zero_a: Tensor | None = None, zero_b: Tensor | None = None
) -> Tensor:
    made = multiplied(_centred(node, a, zero_a, [-1, 1]), _centred(node, b, zero_b))
    return cast(made, int32)


@operator("QLinearMatMul")
def _qlinear_matmul(
    node: Node,
    a: Tensor,
    scale_a: Tensor,
    zero_a: Tensor,
    b: Tensor,
    scale_b: Tensor,
    zero_b: Tensor,
    scale_y: Tensor,
    zero_y: Tensor,
) -> Tensor:
    made = multiplied(_centred(node, a, zero_a, [-1, 1]), _centred(node, b, zero_b))
    factor = cast(scale_a, float64) * cast(scale_b, float64) / cast(scale_y, float64)
    return rounded(made * factor, zero_y, zero_y.dtype)


@operator("ConvInteger")
def _conv_integer(
    node: Node, x: Tensor, w: Tensor, zero_x: Tensor | None = None, zero_w: Tensor | None = None
) -> Tensor:
    per_filter = [-1] + [1] * (node.rank(w) - 1)
    return cast(convolution(node, _centred(node, x, zero_x), _centred(node, w, zero_w, per_filter)), int32)


@operator("QLinearConv")
def _qlinear_conv(
    node: Node,
    x: Tensor,
    scale_x: Tensor,
    zero_x: Tensor,
    w: Tensor,
    scale_w: Tensor,
    zero_w: Tensor,
    scale_y: Tensor,
    zero_y: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    per_filter = [-1] + [1] * (node.rank(w) - 1)
    made = convolution(node, _centred(node, x, zero_x), _centred(node, w, zero_w, per_filter))
    made = with_bias(made, None if bias is None else cast(bias, float64))
    factor = cast(scale_x, float64) * cast(scale_w, float64) / cast(scale_y, float64)
    if node.rank(factor) == 1 and sizes(factor) != [1]:
        factor = reshape(factor, [-1] + [1] * (node.rank(x) - 2))
    return rounded(made * factor, zero_y, zero_y.dtype)
