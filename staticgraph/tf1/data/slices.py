"""Values of components cut along their first axis, and stacked: arrays, sparse tensors and ragged tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from staticgraph.domains.ragged.values import RaggedTensorValue
from staticgraph.sparse.tensor import SparseTensorValue


def slice_count(value: Any) -> int:
    """Return the number of slices of a value."""
    if isinstance(value, SparseTensorValue):
        return int(value.dense_shape[0])
    return len(value.row_splits) - 1 if isinstance(value, RaggedTensorValue) else len(value)


def slices_of(value: Any) -> Iterator[Any]:
    """Yield the slices of a value; those of rows that differ in length are arrays, or ragged themselves."""
    if isinstance(value, SparseTensorValue):
        for row in range(int(value.dense_shape[0])):
            here = value.indices[:, 0] == row
            yield SparseTensorValue(value.indices[here, 1:], value.values[here], value.dense_shape[1:])
    elif isinstance(value, RaggedTensorValue):
        for start, stop in zip(value.row_splits[:-1], value.row_splits[1:], strict=True):
            yield _rows(value.values, int(start), int(stop))
    elif value.ndim == 1:
        yield from (np.asarray(v, value.dtype) for v in value)
    else:
        yield from value


def _rows(value: Any, start: int, stop: int) -> Any:
    """Return some rows of an array or of a ragged value."""
    if not isinstance(value, RaggedTensorValue):
        return value[start:stop]
    splits = value.row_splits[start : stop + 1]
    return RaggedTensorValue(_rows(value.values, int(splits[0]), int(splits[-1])), splits - splits[0])


def stacked_sparse(column: Sequence[SparseTensorValue]) -> SparseTensorValue:
    """Stack sparse values, whose sizes may differ: those of the result are the largest."""
    numbers = [np.full((len(value.values), 1), row, np.int64) for row, value in enumerate(column)]
    places = [np.hstack([n, value.indices]) for n, value in zip(numbers, column, strict=True)]
    shape = np.max([value.dense_shape for value in column], axis=0)
    values = np.concatenate([value.values for value in column])
    return SparseTensorValue(np.concatenate(places), values, np.array([len(column), *shape], np.int64))


def stacked_ragged(column: Sequence[Any], splits_dtype: Any) -> RaggedTensorValue:
    """Stack ragged values, or arrays that differ in length, as the rows of a ragged value."""
    return RaggedTensorValue(_joined(column), _splits([slice_count(value) for value in column], splits_dtype))


def _joined(values: Sequence[Any]) -> Any:
    """Return the rows of all values, one after another."""
    if not isinstance(values[0], RaggedTensorValue):
        return np.concatenate(values)
    lengths = np.concatenate([np.diff(value.row_splits) for value in values])
    return RaggedTensorValue(
        _joined([value.values for value in values]), _splits(lengths, values[0].row_splits.dtype)
    )


def _splits(lengths: Any, dtype: Any) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(dtype)
