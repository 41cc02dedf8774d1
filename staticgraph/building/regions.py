"""Regions of the graph while they are built: the bodies of loops, branches, gradient functions in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph.compiler import ops
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Region, Tensor


def parameters(graph: Graph, region: Region, types: Sequence[TensorType], name: str) -> list[Tensor]:
    """New params of `region`, which gets no others."""
    with graph.inside(region):
        made = [ops.region_parameter(dtype=t.dtype, shape=t.shape, name=name) for t in types]
    region.params = tuple(made)
    return made


def finish(region: Region, results: Sequence[Tensor]) -> None:
    """Set the results of `region`. No operations are added to it after this call."""
    region.results = tuple(results)


def captures(regions: Sequence[Region]) -> tuple[list[Tensor], list[Operation]]:
    """The tensors and operations outside that several regions need."""
    tensors: dict[Tensor, None] = {}
    controls: dict[Operation, None] = {}
    for region in regions:
        used, before = region.captures()
        tensors |= dict.fromkeys(t for t in used if t.op.region not in regions)
        controls |= dict.fromkeys(before)
    return list(tensors), list(controls)


def own(regions: Sequence[Region], operation: Operation) -> None:
    """Tell regions what operation they are a part of."""
    for region in regions:
        region.owner = operation


def call(graph: Graph, region: Region, function: Callable[..., Any], *args: Any) -> Any:
    """Call `function` with its operations recorded inside `region`, and return its result.

    It may call itself, for loops in loops, deeper than Python's limit of recursion allows.
    """
    from staticgraph.compiler.support.recursion import deep_recursion  # what few programs need

    with graph.inside(region), deep_recursion():
        return function(*args)
