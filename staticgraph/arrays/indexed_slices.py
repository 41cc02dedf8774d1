"""Some rows of a large tensor: the form of gradients of gathers, so that updates touch only those rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.read_only import read_only
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.operators import Operators
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Operation, Tensor


class IndexedSlicesValue(NamedTuple):
    """The value of `IndexedSlices` in a run: arrays, and None for a `dense_shape` that is not known."""

    values: Any
    indices: Any
    dense_shape: Any = None


class IndexedSlices(Operators):
    """A tensor of shape `dense_shape` that is zero but for `dense[indices[i]] += values[i]`.

    `values` has shape [n, ...], `indices` is a vector of n integers in which rows may occur more than once.
    Where a dense tensor is needed it is made into one. Fetched in a run, it gives an `IndexedSlicesValue`.

    >>> import staticgraph as sg
    >>> w = sg.Variable(sg.zeros([1000, 8]), name="w")
    >>> loss = sg.reduce_sum(sg.gather(w, [3, 4]))
    >>> gradient = sg.gradients(loss, w)[0]
    >>> type(gradient).__name__, gradient.values.shape.as_list()
    ('IndexedSlices', [2, 8])
    """

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    values: Tensor = read_only("values")
    indices: Tensor = read_only("indices")

    dense_shape: Tensor | None = read_only("dense_shape", "The shape of the whole, if it is known.")
    name: str = read_only("values.name")
    op: Operation = read_only("values.op")
    control_op: Operation = read_only("values.op", "The operation that control dependencies wait for.")
    dtype: DType = read_only("values.dtype")
    device: str = read_only("values.device")
    graph: Graph = read_only("values.graph")
    recorder: Graph = read_only("values.graph")

    def consumers(self) -> list[Operation]:
        """The operations that have the values as an input."""
        return self.values.consumers()

    def with_values(self, values: Tensor) -> IndexedSlices:
        """Other values at the same rows."""
        return IndexedSlices(values, self.indices, self.dense_shape)

    def to_tensor(self) -> Tensor:
        """The dense tensor. ValueError if `dense_shape` is not known."""
        if self.dense_shape is None:
            raise misuse(
                ValueError, f"{self.name}: without a dense_shape these slices cannot be made into a tensor"
            )
        with counted_as(self.graph, 5):  # a number of rows, and a segment sum
            at = ops.expand_dims(self.indices, axis=-1)
            return ops.scatter_nd(at, self.values, shape=self.dense_shape)

    def components(self) -> list[Tensor]:
        """The tensors that these slices consist of."""
        return [self._values, self._indices, *([] if self._dense_shape is None else [self._dense_shape])]

    def with_components(self, tensors: Sequence[Tensor]) -> IndexedSlices:
        """Slices of other tensors, in the order of `components`."""
        return IndexedSlices(*tensors)

    def invariants_of_components(self, shape: Any) -> list[Any]:
        """The shapes of the components in each iteration of a loop, for a `shape` of the values.

        False stands for the shape with which a component enters the loop.
        """
        if shape is False:
            return [False] * len(self.components())
        rows = (None,) if shape is None else shape[:1]
        return [shape, rows, (None if shape is None else len(shape),)][: len(self.components())]

    def fetch_parts(self) -> tuple[list[Tensor], Any]:
        """For `run`: what is fetched, and what is made of the values."""
        return self.components(), lambda values: IndexedSlicesValue(*values)

    def feed_parts(self, value: Any) -> Iterator[tuple[Tensor, Any]]:
        """For `run`: the tensors that are fed when this is, each with its part of the value."""
        values, indices, shape = value if value is not None else (None, None, None)
        yield from ((self._values, values), (self._indices, indices))
        if self._dense_shape is not None:
            yield self._dense_shape, shape

    def __neg__(self) -> IndexedSlices:
        return self.with_values(-self.values)

    def __repr__(self) -> str:
        return f"<sg.IndexedSlices values={self.values!r} indices={self.indices!r}>"


def convert_to_tensor_or_indexed_slices(value: Any, dtype: Any = None, name: str | None = None) -> Any:
    """`value` as a tensor, but IndexedSlices as they are."""
    if isinstance(value, IndexedSlices):
        return value
    return snapshot(convert_to_tensor(value, dtype=dtype, name=name))
