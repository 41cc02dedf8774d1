"""Reductions over segments of chosen rows: a gather and a reduction in one."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.casts import for_sums, of_dtype, widened
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.tensor import Tensor


def sparse_segment_sum(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
) -> Tensor:
    """The sums of the rows `indices` of `data` that have the same segment id.

    `indices` and `segment_ids` are integers of one shape [n], the ids in rising order. There are
    `num_segments` segments, or as many as the last id asks for; those without rows are 0.

    >>> import staticgraph as sg
    >>> table = sg.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> sums = sg.sparse_segment_sum(table, [0, 2, 1], [0, 0, 2], num_segments=3)
    >>> with sg.Session() as sess:
    ...     print(sess.run(sums))
    [[6. 8.]
     [0. 0.]
     [3. 4.]]
    """
    with name_scope(name, "SparseSegmentSum", [data, indices, segment_ids]):
        return _summed(_rows(data, indices), segment_ids, num_segments)


def sparse_segment_mean(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
) -> Tensor:
    """`sparse_segment_sum` over the number of rows in each segment; float64 for integers."""
    with name_scope(name, "SparseSegmentMean", [data, indices, segment_ids]):
        data = convert_to_tensor(data)
        rows = for_sums(_rows(data, indices))
        mean = _summed(rows, segment_ids, num_segments) / _counts(rows, segment_ids, num_segments)
        return mean if data.dtype.is_integer else of_dtype(mean, data.dtype)


def sparse_segment_sqrt_n(
    data: Any, indices: Any, segment_ids: Any, name: str | None = None, num_segments: Any = None
) -> Tensor:
    """`sparse_segment_sum` over the square root of the number of rows in each segment."""
    with name_scope(name, "SparseSegmentSqrtN", [data, indices, segment_ids]):
        data = convert_to_tensor(data)
        rows = widened(_rows(data, indices))
        roots = ops.sqrt(_counts(rows, segment_ids, num_segments))
        return of_dtype(_summed(rows, segment_ids, num_segments) / roots, data.dtype)


def _rows(data: Any, indices: Any) -> Tensor:
    return ops.gather(convert_to_tensor(data), convert_to_tensor(indices), axis=0)


def _summed(rows: Tensor, segment_ids: Any, num_segments: Any) -> Tensor:
    if num_segments is None:
        return ops.segment_sum(rows, segment_ids)
    return ops.unsorted_segment_sum(rows, segment_ids, num_segments)


def _counts(rows: Tensor, segment_ids: Any, num_segments: Any) -> Tensor:
    """The number of rows in each segment, at least 1, in the shape of the sums."""
    counts = _summed(ops.ones_like(rows), segment_ids, num_segments)
    return ops.maximum(counts, ops.ones_like(counts))
