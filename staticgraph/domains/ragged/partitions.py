"""Partitions of a tensor into rows: their splits, lengths, and the number of the row of each value."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.sorting import searchsorted
from staticgraph.building.framework import checked, control_dependencies, name_scope
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, as_dtype, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.debugging.comparisons import assert_equal, assert_non_negative


def partition(value: Any, name: str, dtype: Any = None) -> Tensor:
    """Return a vector of a partition as a tensor, int64 by default. ValueError for another rank or dtype."""
    hint = None if hasattr(value, "dtype") and dtype is None else as_dtype(dtype or int64)
    empty = isinstance(value, list | tuple) and not value  # which would be of floats
    given = np.zeros(0, hint.numpy) if empty and hint is not None else value
    made = convert_to_tensor(given, dtype_hint=hint, name=name)
    with checked(name):
        require(made.dtype in (int32, int64), f"{name} is {made.dtype.name}, and must be int32 or int64")
        require(made.type.rank in (None, 1), f"{name} has shape {made.shape}, and must have one axis")
    return made


def splits_of_lengths(lengths: Tensor) -> Tensor:
    """Return the splits of rows of these lengths."""
    return ops.concat([convert_to_tensor(np.zeros(1, lengths.dtype.numpy)), ops.cumsum(lengths)], axis=0)


def lengths_of(splits: Tensor) -> Tensor:
    """Return the length of each row."""
    return splits[1:] - splits[:-1]


def row_ids(splits: Tensor, count: Any) -> Tensor:
    """Return the number of the row of each of `count` values."""
    numbers = ops.range(0, ops.cast(count, dtype=splits.dtype), 1, dtype=splits.dtype)
    found = searchsorted(splits, numbers, side="right", out_type=splits.dtype)
    return found - ops.cast(1, dtype=splits.dtype)


def lengths_of_ids(ids: Tensor, count: Any) -> Tensor:
    """Return the length of each of `count` rows that a sorted vector of their numbers tells."""
    ones = ops.ones_like(ids)
    return ops.unsorted_segment_sum(ones, ids, num_segments=count)


def checked_splits(splits: Tensor, count: Any, name: str) -> Tensor:
    """Return splits that a run refuses if they do not ascend from 0 to `count`."""
    message = f"the arguments of {name} do not form a valid RaggedTensor"
    checks = [
        assert_equal(splits[0], convert_to_tensor(np.zeros((), splits.dtype.numpy)), message=message),
        assert_non_negative(lengths_of(splits), message=message),
        assert_equal(splits[-1], ops.cast(count, dtype=splits.dtype), message=message),
    ]
    with control_dependencies([check for check in checks if check is not None]):
        return identity(splits)


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The number of the row of each value.

    Args:
        splits: Where each row begins, and the end of the last one.
        name: The name scope.
        out_type: The dtype, int32 or int64; by default that of `splits`.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     print(sess.run(sg.ragged.row_splits_to_segment_ids([0, 3, 3, 5])))
    [0 0 0 2 2]
    """
    with name_scope(name, "RaggedSplitsToSegmentIds"):
        vector = partition(splits, "splits", out_type)
        made = row_ids(vector, vector[-1])
        return made if out_type is None else ops.cast(made, dtype=as_dtype(out_type))


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """The splits of rows (the places at which they begin, and the end) from the row number of each value.

    Args:
        segment_ids: Sorted numbers of rows.
        num_segments: The number of rows; by default one more than the last number.
        out_type: The dtype, int32 or int64; by default that of `segment_ids`.
        name: The name scope.

    >>> import staticgraph as sg
    >>> with sg.Session() as sess:
    ...     print(sess.run(sg.ragged.segment_ids_to_row_splits([0, 0, 2])))
    [0 2 2 3]
    """
    with name_scope(name, "SegmentIdsToRowSplits"):
        ids = partition(segment_ids, "segment_ids", out_type)
        count = row_count(ids) if num_segments is None else num_segments
        made = splits_of_lengths(lengths_of_ids(ids, count))
        return made if out_type is None else ops.cast(made, dtype=as_dtype(out_type))


def row_count(ids: Tensor) -> Tensor:
    """Return one more than the last number of a row, 0 if there is none."""
    before = convert_to_tensor(np.full(1, -1, ids.dtype.numpy))
    return ops.concat([before, ids], axis=0)[-1] + ops.cast(1, dtype=ids.dtype)


def index_dtype(*values: Any) -> DType:
    """Return int64 if one of the values is of it, else int32."""
    return int64 if any(v.dtype is int64 for v in values) else int32
