"""Nodes of numbers of few bits, as they are simulated in training."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.graph_def.nodes import Node, constant, reads

__all__ = ["limits"]


def limits(node: Node, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Two limits, moved so that zero is one of the steps between them, and the size of a step."""
    first, last = float(node.attrs["narrow_range"]), float(2 ** node.attrs["num_bits"] - 1)
    step = (high - low) / (last - first)
    zero = first - low / step
    zero = ops.minimum(ops.maximum(ops.floor(zero + 0.5), first), last)
    return (first - zero) * step, (last - zero) * step, step


def _fake_quantized(node: Node, x: Tensor, low: Any, high: Any) -> Any:
    """Rounded to the steps between two limits."""
    lowest, highest, step = limits(node, low, high)
    clipped = ops.minimum(ops.maximum(x, lowest), highest)
    return ops.add(ops.floor((clipped - lowest) / step + 0.5) * step, lowest, name=node.out)


@reads("FakeQuantWithMinMaxArgs")
def _quantized_between_numbers(node: Node) -> Any:
    [x] = node.tensors
    return _fake_quantized(node, x, *(constant(node.attrs[key], x.dtype) for key in ("min", "max")))


@reads("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
def _quantized_between_tensors(node: Node) -> Any:
    return _fake_quantized(node, *node.tensors)
