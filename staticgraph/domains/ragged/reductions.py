"""Reductions of ragged tensors: over everything, over the values of each row, or over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.building.framework import name_scope
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, float64, int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.domains.ragged.construction import range as ragged_range
from staticgraph.domains.ragged.functions import argsort, axis_of, gather
from staticgraph.domains.ragged.partitions import lengths_of, lengths_of_ids, splits_of_lengths
from staticgraph.domains.ragged.tensor import RaggedTensor, convert


@dataclass(frozen=True, slots=True)
class _Reduction:
    """The form of a reduction for ragged tensors: over everything, or over rows, whose numbers are segments.

    Attributes:
        of_all: The reduction of a tensor.
        of_segments: The reduction of each segment of values, of so many.
        over_one_axis: True if several axes cannot be reduced one after the other, as of a mean.
    """

    of_all: Callable[..., Any]
    of_segments: Callable[..., Any]
    over_one_axis: bool = False

    def __call__(
        self, input_tensor: Any = None, axis: Any = None, keepdims: Any = None, name: str | None = None,
        reduction_indices: Any = None, keep_dims: Any = None,
    ) -> Any:  # fmt: skip
        """Reduce a ragged tensor; the arguments are those of the function for tensors."""
        axis = reduction_indices if axis is None else axis
        if keepdims or keep_dims:
            raise misuse(ValueError, "reductions of RaggedTensors keep no axis", "expand_dims(y, axis)")
        with name_scope(name, "RaggedReduce"):
            return self.over(convert(input_tensor), axis)

    def over(self, x: Any, axis: Any) -> Any:
        """Reduce along one axis, along several, or along all of them for None."""
        if not isinstance(x, RaggedTensor):
            return self.of_all(x, axis=axis)
        if axis is None:
            return self.of_all(x.flat_values, axis=None)
        if isinstance(axis, list | tuple):
            return self._over_several(x, sorted({axis_of(each, x) for each in axis}))
        at = axis_of(axis, x)
        if at == 0:
            places = ragged_range(x.row_lengths(), row_splits_dtype=x.row_splits.dtype).values
            count = ops.reduce_max(ops.concat([ops.cast([0], dtype=places.dtype), x.row_lengths()], axis=0))
            return self._segments(x.values, places, count)
        if at == 1:
            return self._segments(x.values, x.value_rowids(), x.nrows())
        return x.with_values(self.over(x.values, at - 1))

    def _over_several(self, x: RaggedTensor, axes: list[int]) -> Any:
        if len(axes) == x.shape.ndims:
            return self.over(x, None)
        if self.over_one_axis and len(axes) > 1:
            text = f"the mean over axes {axes} of a RaggedTensor"
            raise misuse(ValueError, f"{text} is not supported", "divide the sum by the sum of ones")
        made: Any = x
        for each in reversed(axes):
            made = self.over(made, each)
        return made

    def _segments(self, values: Any, rows: Tensor, count: Tensor) -> Any:
        if not isinstance(values, RaggedTensor):
            return self.of_segments(values, rows, count)
        # The rows of rows that go together become one row of segments.
        grouped = gather(values, argsort(rows))
        nested = RaggedTensor(grouped, splits_of_lengths(lengths_of_ids(rows, count)), internal=True)
        longest = nested.with_values(lengths_of(grouped.row_splits))
        of_group = segment_max(longest.values, longest.value_rowids(), count)
        splits = splits_of_lengths(ops.maximum(of_group, ops.cast(0, dtype=of_group.dtype)))
        group = ops.gather(nested.value_rowids(), grouped.value_rowids(), axis=0)
        places = (
            ops.gather(splits, group, axis=0)
            + ragged_range(lengths_of(grouped.row_splits), row_splits_dtype=splits.dtype).values
        )
        return RaggedTensor(self.of_segments(grouped.values, places, splits[-1]), splits, internal=True)


def segment_max(values: Tensor, ids: Tensor, count: Any) -> Tensor:
    """Return the greatest value of each segment."""
    found: Tensor = ops.unsorted_segment_max(values, ids, num_segments=count)
    return found


def _all(op: Any) -> Callable[..., Any]:
    return lambda x, axis: op(x, axis=axis)


def _segment(op: Any) -> Callable[..., Any]:
    return lambda values, rows, count: op(values, rows, num_segments=count)


def _logical(segment: Any) -> Callable[..., Any]:
    return lambda values, rows, count: ops.cast(
        segment(ops.cast(values, dtype=int32), rows, num_segments=count) > 0, dtype=bool_
    )


def _mean(values: Tensor, rows: Tensor, count: Any) -> Tensor:
    values = values if values.dtype.is_floating else ops.cast(values, dtype=float64)
    sums = ops.unsorted_segment_sum(values, rows, num_segments=count)
    numbers = ops.unsorted_segment_sum(ops.ones_like(values), rows, num_segments=count)
    return sums / numbers


def _mean_of_all(x: Tensor, axis: Any) -> Tensor:
    found: Tensor = ops.reduce_mean(x if x.dtype.is_floating else ops.cast(x, dtype=float64), axis=axis)
    return found


RaggedTensor.functions |= {
    "reduce_all": _Reduction(_all(ops.reduce_all), _logical(ops.unsorted_segment_min)),
    "reduce_any": _Reduction(_all(ops.reduce_any), _logical(ops.unsorted_segment_max)),
    "reduce_max": _Reduction(_all(ops.reduce_max), _segment(ops.unsorted_segment_max)),
    "reduce_mean": _Reduction(_mean_of_all, _mean, over_one_axis=True),
    "reduce_min": _Reduction(_all(ops.reduce_min), _segment(ops.unsorted_segment_min)),
    "reduce_prod": _Reduction(_all(ops.reduce_prod), _segment(ops.unsorted_segment_prod)),
    "reduce_sum": _Reduction(_all(ops.reduce_sum), _segment(ops.unsorted_segment_sum)),
}
