"""Nodes of numbers of few bits, as they are simulated in training."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node, constant, reads, several
from staticgraph.nn.fake_quantization import limits, rounded


def _settings(node: Node) -> tuple[int, bool]:
    return int(node.attrs["num_bits"]), bool(node.attrs["narrow_range"])


@reads("FakeQuantWithMinMaxArgs")
def _quantized_between_numbers(node: Node) -> Any:
    [x] = node.tensors
    low, high = (constant(node.attrs[key], x.dtype) for key in ("min", "max"))
    return rounded(x, low, high, *_settings(node), node.out)


@reads("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def _quantized_between_tensors(node: Node) -> Any:
    x, low, high = node.tensors
    return rounded(x, low, high, *_settings(node), node.out)


@reads("FakeQuantWithMinMaxArgsGradient")
def _between_numbers(node: Node) -> Any:
    dy, x = node.tensors
    low, high = (constant(node.attrs[key], x.dtype) for key in ("min", "max"))
    lowest, highest, _ = limits(low, high, *_settings(node))
    inside = ops.logical_and(x >= lowest, x <= highest)
    return ops.select(inside, dy, ops.zeros_like(dy), name=node.out)


@reads("FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannelGradient")
def _between_tensors(node: Node) -> Any:
    """Pass the gradient to `x` for elements inside the limits, and to the exceeded limit for the others."""
    dy, x, low, high = node.tensors
    lowest, highest, _ = limits(low, high, *_settings(node))
    rank = x.type.rank
    if rank is None:
        raise GraphDefError("the number of axes of its input must be known")
    axes = list(range(rank - 1 if node.type.endswith("ChannelGradient") else rank))
    zero, below, above = ops.zeros_like(dy), x < lowest, x > highest
    inside = ops.logical_not(ops.logical_or(below, above))
    parts = [ops.select(inside, dy, zero)]
    parts += [ops.reduce_sum(ops.select(each, dy, zero), axis=axes) for each in (below, above)]
    return several(node, *parts)
