"""Nodes of numbers of few bits, as they are simulated in training."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node, constant, reads, several


def _limits(node: Node, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Two limits, moved so that zero is one of the steps between them, and the size of a step."""
    first, last = float(node.attrs["narrow_range"]), float(2 ** node.attrs["num_bits"] - 1)
    step = (high - low) / (last - first)
    zero = first - low / step
    zero = ops.minimum(ops.maximum(ops.floor(zero + 0.5), first), last)
    return (first - zero) * step, (last - zero) * step, step


def _fake_quantized(node: Node, x: Tensor, low: Any, high: Any) -> Any:
    """Rounded to the steps between two limits."""
    lowest, highest, step = _limits(node, low, high)
    clipped = ops.minimum(ops.maximum(x, lowest), highest)
    return ops.add(ops.floor((clipped - lowest) / step + 0.5) * step, lowest, name=node.out)


@reads("FakeQuantWithMinMaxArgs")
def _quantized_between_numbers(node: Node) -> Any:
    [x] = node.tensors
    return _fake_quantized(node, x, *(constant(node.attrs[key], x.dtype) for key in ("min", "max")))


@reads("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def _quantized_between_tensors(node: Node) -> Any:
    return _fake_quantized(node, *node.tensors)


@reads("FakeQuantWithMinMaxArgsGradient")
def _between_numbers(node: Node) -> Any:
    dy, x = node.tensors
    low, high = (constant(node.attrs[key], x.dtype) for key in ("min", "max"))
    lowest, highest, _ = _limits(node, low, high)
    inside = ops.logical_and(x >= lowest, x <= highest)
    return ops.select(inside, dy, ops.zeros_like(dy), name=node.out)


@reads("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient")
def _between_tensors(node: Node) -> Any:
    """Pass the gradient to `x` for elements inside the limits, and to the exceeded limit for the others."""
    dy, x, low, high = node.tensors
    lowest, highest, _ = _limits(node, low, high)
    rank = x.type.rank
    if rank is None:
        raise GraphDefError("the number of axes of its input must be known")
    axes = list(range(rank - 1 if node.type.endswith("ChannelGradient") else rank))
    zero, below, above = ops.zeros_like(dy), x < lowest, x > highest
    inside = ops.logical_not(ops.logical_or(below, above))
    parts = [ops.select(inside, dy, zero)]
    parts += [ops.reduce_sum(ops.select(each, dy, zero), axis=axes) for each in (below, above)]
    return several(node, *parts)
