"""Values that loops and branches carry: tensors, and what is made into tensors for it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from staticgraph.building import nest
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.shapes import Shape
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.control_flow.tensor_array import TensorArray


class Carrier:
    """Turns a structure of values into a flat list of tensors and back: a TensorArray is carried as its flow,
    a SparseTensor and IndexedSlices as the tensors that they consist of.
    """

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self.leaves = nest.flatten(structure)
        self._parts = [leaf.components() if is_composite(leaf) else [leaf] for leaf in self.leaves]

    def kinds(self) -> list[Any]:
        """For each leaf, what decides if another can take its place: its class and number of tensors."""
        return [(type(leaf), len(parts)) if is_composite(leaf) else 1 for leaf, parts in self._each()]

    def tensors(self, done: bool = True) -> list[Tensor]:
        """The tensors that stand for the leaves; `done` for those of operations."""
        return [as_carried(part, done) for parts in self._parts for part in parts]

    def restore(self, tensors: Sequence[Tensor]) -> Any:
        """The structure with other tensors in it."""
        rest = iter(tensors)
        made = [_restored(leaf, list(itertools.islice(rest, len(parts)))) for leaf, parts in self._each()]
        return nest.pack_sequence_as(self.structure, made)

    def arrays(self) -> list[bool]:
        """For each tensor, if it is the flow of a TensorArray."""
        return [isinstance(part, TensorArray) for parts in self._parts for part in parts]

    def invariants(self, shapes: Sequence[Any] | None) -> list[Any]:
        """The shapes of the tensors that hold in each iteration of a loop.

        Args:
            shapes: For each leaf what its user said; None if nothing was said.

        Returns:
            For each tensor its shape, or False for the one with which it enters the loop.
        """
        found: list[Any] = []
        for number, (leaf, parts) in enumerate(self._each()):
            said: Shape | bool = False if shapes is None else shapes[number]
            found += leaf.invariants_of_components(said) if is_composite(leaf) else [said] * len(parts)
        return found

    def _each(self) -> list[tuple[Any, list[Any]]]:
        return list(zip(self.leaves, self._parts, strict=True))


def is_composite(leaf: Any) -> bool:
    """Return True for a SparseTensor and for IndexedSlices."""
    return hasattr(leaf, "invariants_of_components")


def _restored(leaf: Any, tensors: list[Tensor]) -> Any:
    if isinstance(leaf, TensorArray):
        return leaf.with_flow(tensors[0])
    return leaf.with_components(tensors) if is_composite(leaf) else tensors[0]


def as_carried(leaf: Any, done: bool = True) -> Tensor:
    """The tensor that stands for a leaf. That of an operation is the truth value `done`, known after it."""
    if isinstance(leaf, TensorArray):
        return leaf.flow
    if isinstance(leaf, Operation):
        with leaf.graph.control_dependencies([leaf]):
            return convert_to_tensor(done, name="control_dependency")
    return convert_to_tensor(leaf)
