"""Values that loops and branches carry: tensors, and what is made into tensors for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building import nest
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.control_flow.tensor_array import TensorArray


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
