"""Arrays that derivatives are added up in: TensorFlow asks for them by the handle of the array that they are
the derivative of, and every node that asks gets the same one.
"""

from __future__ import annotations

from typing import Any, Protocol

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.control_flow.tensor_array import TensorArray
from staticgraph.formats.tf.graph_def.nodes import constant
from staticgraph.formats.tf.graph_def.stacks import Slope


class Keeping(Protocol):
    """Store of the current form of the arrays of derivatives."""

    def values(self, keys: Any) -> list[Any]:
        """Return the current arrays of these keys."""

    def change(self, keys: Any, values: Any) -> None:
        """Let these be other values from here on."""


class GradientArrays:
    """The handle of such an array. Where a `TensorArray` sets rows, this adds to them."""

    def __init__(self, kept: Keeping, key: Slope) -> None:
        self._kept, self._key = kept, key

    @property
    def rows(self) -> TensorArray:
        """The array as it is now."""
        [rows] = self._kept.values([self._key])
        assert isinstance(rows, TensorArray)
        return rows

    def identity(self) -> GradientArrays:
        """The same handle."""
        return self

    def write(self, index: Any, value: Tensor, name: str | None = None) -> Tensor:
        """Add to a row."""
        rows = self.rows
        return self._set(rows.write(index, ops.add(rows.read(index), value), name=name).flow)

    def scatter(self, indices: Any, value: Tensor, name: str | None = None) -> Tensor:
        """Add to several rows."""
        at = ops.expand_dims(indices, axis=1)
        return self._set(ops.tensor_scatter_add(self.rows.flow, at, value, name=name))

    def split(self, value: Tensor, lengths: Tensor, name: str | None = None) -> Tensor:
        """Add to each row a part of `value`."""
        rows = self.rows
        return self._set(ops.add(rows.flow, rows.split(value, lengths).flow, name=name))

    def _set(self, flow: Tensor) -> Tensor:
        self._kept.change([self._key], [self.rows.with_flow(flow)])
        return no_flow()


def no_flow() -> Tensor:
    """The number that flows from a change to the next use, where nothing goes by it."""
    return constant(0.0, float32)
