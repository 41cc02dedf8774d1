"""Accumulated gradient of a tensor: a sum of tensors of its shape, and of rows.

Rows are kept apart until the sum is needed. In the derivative of a loop that reads one row per iteration, the
rows are then added to the sum of the iterations before. So no iteration makes a tensor of zeros with one row
in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.tf.graph_def.nodes import constant


@dataclass(frozen=True, slots=True)
class Rows:
    """A derivative that is zero but for the rows at `indices`, of any shape."""

    indices: Tensor
    values: Tensor

    def whole(self, like: Tensor) -> Tensor:
        """It as a tensor of the shape of `like`."""
        shape = ops.shape_of(like)
        tail = ops.concat([constant([-1], int32), shape[1:]], axis=0)
        rows, at = ops.reshape(self.values, shape=tail), ops.reshape(self.indices, shape=[-1])
        return ops.unsorted_segment_sum(rows, at, num_segments=shape[0])

    def added_to(self, tensor: Tensor) -> Tensor:
        """`tensor` with the rows added."""
        one = [-1, 1] if self.indices.type.rank == 0 else None
        places = ops.reshape(self.indices, shape=one) if one else ops.expand_dims(self.indices, axis=-1)
        values = ops.expand_dims(self.values, axis=0) if one else self.values
        return ops.tensor_scatter_add(tensor, places, values)


@dataclass(slots=True)
class Received:
    """Accumulated gradient of one tensor."""

    whole: Tensor | None = None
    rows: list[Rows] = field(default_factory=list)

    def add(self, part: Tensor | Rows) -> None:
        """Let it receive this too."""
        if isinstance(part, Rows):
            self.rows.append(part)
        else:
            self.whole = part if self.whole is None else self.whole + part

    def total(self, like: Callable[[], Tensor]) -> Tensor:
        """All of it. `like`: what is as large as the tensor."""
        if self.whole is not None:
            return _with(self.whole, self.rows)
        first, *rest = self.rows
        return _with(first.whole(like()), rest)

    def added_to(self, tensor: Tensor) -> Tensor:
        """`tensor` and all of it."""
        return _with(tensor if self.whole is None else tensor + self.whole, self.rows)


def _with(tensor: Tensor, rows: Sequence[Rows]) -> Tensor:
    for each in rows:
        tensor = each.added_to(tensor)
    return tensor
