"""Accumulated gradient of a tensor: tensors of its shape, and rows of it.

Rows are kept apart as long as nothing needs their sum: a derivative that consists of rows alone is an
`IndexedSlices`, which an optimizer applies to these rows only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(slots=True)
class Received:
    """Cotangents that a tensor has received so far.

    Attributes:
        tensors: Cotangents of the tensor's shape.
        gathers: Operations that gather rows of the tensor, each with the cotangent of its result.
        slices: What gradient functions gave as rows.
    """

    tensors: list[Tensor] = field(default_factory=list)
    gathers: list[tuple[Operation, Tensor]] = field(default_factory=list)
    slices: list[IndexedSlices] = field(default_factory=list)

    def add(self, part: Tensor | IndexedSlices) -> None:
        """Receive one more cotangent."""
        if isinstance(part, IndexedSlices):
            self.slices.append(part)
        else:
            self.tensors.append(part)

    def total(self, spread: Callable[[Operation, Tensor], Tensor]) -> Tensor:
        """Return all of it as one tensor. `spread` makes the derivative by what an operation gathers from."""
        parts = [*self.tensors, *(spread(op, g) for op, g in self.gathers)]
        parts += [each.to_tensor() for each in self.slices]
        if len(parts) > 1:
            parts = [ops.add_n(parts, name="AddN")]
        self.tensors, self.gathers, self.slices = parts, [], []
        return parts[0]
