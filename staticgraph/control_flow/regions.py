"""Calling a user's function inside a new region of the graph, and what it takes to carry its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from staticgraph import nest
from staticgraph.compiler import ops
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.region import Region
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.indexed_slices import IndexedSlices
from staticgraph.inputs import convert_to_tensor
from staticgraph.tensor_array import TensorArray


def parameters(graph: Graph, region: Region, types: Sequence[TensorType], name: str) -> list[Tensor]:
    """New params of `region`, which gets no others."""
    with graph.inside(region):
        made = [ops.region_parameter(dtype=t.dtype, shape=t.shape, name=name) for t in types]
    region.params = tuple(made)
    return made


def finish(region: Region, results: Sequence[Tensor]) -> None:
    """What `region` gives. No operations are added to it any more."""
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


class Carrier:
    """Turns a structure of values into a flat list of tensors and back: a TensorArray is carried as its flow,
    IndexedSlices as a tensor.
    """

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self.leaves = nest.flatten(structure)

    def tensors(self) -> list[Tensor]:
        """The tensors that stand for the leaves."""
        return [as_carried(leaf) for leaf in self.leaves]

    def restore(self, tensors: Sequence[Tensor]) -> Any:
        """The structure with other tensors in it."""
        pairs = zip(self.leaves, tensors, strict=True)
        made = [leaf.with_flow(t) if isinstance(leaf, TensorArray) else t for leaf, t in pairs]
        return nest.pack_sequence_as(self.structure, made)


def as_carried(leaf: Any) -> Tensor:
    """The tensor that stands for a leaf. What an operation gives is a number that nothing uses."""
    if isinstance(leaf, TensorArray):
        return leaf.flow
    if isinstance(leaf, Operation):
        with leaf.graph.control_dependencies([leaf]):
            return convert_to_tensor(0, name="control_dependency")
    if isinstance(leaf, IndexedSlices):
        return leaf.to_tensor()
    return convert_to_tensor(leaf)


def call(graph: Graph, region: Region, function: Callable[..., Any], *args: Any) -> Any:
    """What `function` returns, its operations being a part of `region`."""
    with graph.inside(region):
        return function(*args)
