"""Ops whose result has as many elements as their data say: where, unique, differences, places of partitions.

They are called on the host. What they give decides shapes, and is mostly indices for a native `gather`, which
derivatives flow through. The step is left there anyway: the memory of what follows, and the program for it if
sizes are closed, depend on how many elements there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, DType, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import TensorType, shape_text
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.ops.movement import check_index

_INT = frozenset({int32})
_WORTH_A_TABLE, _TABLE = 256, 4  # elements, and entries of a table for each of them at most
_BLOCK = 1 << 12  # elements that are looked at first for first appearances, and four times as many after each


def _vector(x: TensorType, name: str) -> None:
    require(x.rank in (None, 1), f"{name} must be a vector, not of shape {shape_text(x.shape)}")


@host(tf="Where", type=lambda condition: TensorType(int64, (None, condition.rank)), dtypes=ANY)
def where(condition: Any) -> Any:
    """The positions of the elements of `condition` that are true or not zero, in row-major order.

    int64 of shape [count, rank].
    """
    return np.argwhere(condition).astype(np.int64)


def _in_order(x: np.ndarray, index: DType) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different elements in order of first appearance,
    where each element is among them, how often they occur.
    """
    if (table := _table(x)) is not None:
        return _in_order_by_table(x, *table, index)
    _, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    place = np.empty(len(order), index.numpy)
    place[order] = np.arange(len(order))
    return x[first[order]], place[inverse], counts[order].astype(index.numpy)


def _table(x: np.ndarray) -> tuple[np.ndarray, int] | None:
    """Integers as places in a table, and its size. They are less the lowest one if need be.

    None if the table is large, or no help.
    """
    if x.dtype.kind not in "iu" or len(x) < _WORTH_A_TABLE:
        return None
    low, high = int(x.min()), int(x.max())
    if high - low >= _TABLE * len(x):
        return None
    if low >= 0 and high < _TABLE * len(x):
        return x.astype(np.intp), high + 1
    number = (x - x.dtype.type(low)).astype(np.intp) if x.dtype.kind == "u" else x.astype(np.intp) - low
    return number, high - low + 1


def _in_order_by_table(
    x: np.ndarray, number: np.ndarray, size: int, index: DType
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same with a table of `size` for all values of `number`, without any sort of elements."""
    counts = np.zeros(size, np.intp)
    np.add.at(counts, number, 1)  # with less overhead than bincount
    found, first = np.flatnonzero(counts), _first_places(number, counts)
    found = found[np.argsort(first[found])]
    place = np.empty(len(counts), index.numpy)
    place[found] = np.arange(len(found))
    return x[first[found]], np.take(place, number, mode="wrap"), counts[found].astype(index.numpy)


def _first_places(number: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The place where each number appears first. It looks no further than to the last one of these."""
    first = np.full(len(counts), len(number))
    missing, start, size = np.count_nonzero(counts), 0, _BLOCK
    while missing:
        block = number[start : start + size]
        new = np.flatnonzero(first[block] == len(number))[::-1]
        first[block[new]] = new + start  # of equal numbers, NumPy keeps the last one
        missing = np.count_nonzero(counts) - np.count_nonzero(first < len(number))
        start, size = start + size, size * 4
    return first


def _unique_types(x: TensorType, out_idx: DType) -> tuple[TensorType, TensorType, TensorType]:
    check_index("out_idx", out_idx)
    _vector(x, "x")
    return TensorType(x.dtype, (None,)), TensorType(out_idx, x.shape), TensorType(out_idx, (None,))


@host(tf="Unique", type=lambda x, out_idx: _unique_types(x, out_idx)[:2], no_gradient_known=True)
def unique(x: Any, *, out_idx: DType = int32) -> Any:
    """The different elements of the vector `x` in order of first appearance, and where each is in them."""
    values, places, _ = _in_order(x, out_idx)
    return values, places


@host(tf="UniqueWithCounts", type=_unique_types, no_gradient_known=True)
def unique_with_counts(x: Any, *, out_idx: DType = int32) -> Any:
    """As `unique`, and how often each one occurs, in `out_idx`."""
    return _in_order(x, out_idx)


def _difference_types(x: TensorType, y: TensorType, out_idx: DType) -> tuple[TensorType, TensorType]:
    check_index("out_idx", out_idx)
    _vector(x, "x")
    _vector(y, "y")
    return TensorType(x.dtype, (None,)), TensorType(out_idx, (None,))


@host(tf="ListDiff", type=_difference_types, no_gradient_known=True)
def setdiff1d(x: Any, y: Any, *, out_idx: DType = int32) -> Any:
    """The elements of the vector `x` that are not in `y`, and their places."""
    places = np.flatnonzero(~np.isin(x, y))
    return x[places], places.astype(out_idx.numpy)


@host(
    tf="DynamicPartition",
    type=lambda partitions, num_partitions: (TensorType(int32, (None,)),) * num_partitions,
    dtypes=_INT,
)
def partition_places(partitions: Any, *, num_partitions: int) -> Any:
    """For each number below `num_partitions`, its flat positions among the `partitions`."""
    which = partitions.reshape(-1)
    require(((which >= 0) & (which < num_partitions)).all(), f"partitions must be in 0..{num_partitions - 1}")
    return tuple(np.flatnonzero(which == p).astype(np.int32) for p in range(num_partitions))


@host(tf="DynamicStitch", type=lambda indices: TensorType(int32, (None,)), dtypes=_INT)
def stitch_sources(indices: Any) -> Any:
    """Return the last position among the `indices` of each number up to the greatest one, or -1 if absent."""
    require((indices >= 0).all(), "indices must not be negative")
    sources = np.full(indices.max(initial=-1) + 1, -1, np.int32)
    sources[indices] = np.arange(len(indices))
    return sources
