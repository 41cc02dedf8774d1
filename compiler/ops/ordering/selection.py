"""Ops whose result has as many elements as their data say: where, unique, differences, places of partitions.

What they give decides shapes, and is mostly indices for a native `gather`, which derivatives flow through.
The step is left there: the memory of what follows, and the program for it if sizes are closed, depend on how
many elements there are. The compiled stage before computes results with room for the most elements that there
may be (`padded`), and Python takes as much of them as there is (`cut`). The meanings in NumPy are for strings
and for devices without such stages.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, DType, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.arrays.movement import check_index
from staticgraph.compiler.ops.kinds import host
from staticgraph.compiler.ops.ordering.distinct import in_order
from staticgraph.compiler.ops.ordering.positions import check_partitions, vector
from staticgraph.compiler.support.system_memory import require_memory

_INT = frozenset({int32})


def _true_positions(condition: Any) -> Any:
    flat = ops.reshape(condition, shape=(math.prod(condition.shape),))
    return ops.true_positions(flat, shape=condition.shape)


@host(
    tf="Where", type=lambda condition: TensorType(int64, (None, condition.rank)), dtypes=ANY,
    padded=_true_positions, cut=lambda positions, count: positions[: count[0]],
)  # fmt: skip
def where(condition: Any) -> Any:
    """The positions of the elements of `condition` that are true or not zero, in row-major order.

    int64 of shape [count, rank].
    """
    return np.argwhere(condition).astype(np.int64)


def _unique_types(x: TensorType, out_idx: DType) -> tuple[TensorType, TensorType, TensorType]:
    check_index("out_idx", out_idx)
    vector(x, "x")
    return TensorType(x.dtype, (None,)), TensorType(out_idx, x.shape), TensorType(out_idx, (None,))


def _unique(x: Any, *, out_idx: DType, counted: bool = False) -> Any:
    values, places, counts, found, _ = ops.distinct_numbers(x, out_idx=out_idx, counted=counted)
    return (values, found, places, counts) if counted else (values, found, places)


def _cut_unique(values: Any, found: Any, places: Any, *counts: Any, out_idx: DType) -> Any:
    return values[: found[0]], places, *(c[: found[0]] for c in counts)


@host(
    tf="Unique", type=lambda x, out_idx: _unique_types(x, out_idx)[:2], no_gradient_known=True,
    padded=_unique, cut=_cut_unique,
)  # fmt: skip
def unique(x: Any, *, out_idx: DType = int32) -> Any:
    """The different elements of the vector `x` in order of first appearance, and where each is in them.

    NaN is different from NaN.
    """
    values, places, _ = in_order(x)
    return values, places.astype(out_idx.numpy)


@host(
    tf="UniqueWithCounts", type=_unique_types, no_gradient_known=True, cut=_cut_unique,
    padded=lambda x, out_idx: _unique(x, out_idx=out_idx, counted=True),
)  # fmt: skip
def unique_with_counts(x: Any, *, out_idx: DType = int32) -> Any:
    """As `unique`, and how often each one occurs, in `out_idx`."""
    values, places, counts = in_order(x)
    return values, places.astype(out_idx.numpy), counts.astype(out_idx.numpy)


def _difference_types(x: TensorType, y: TensorType, out_idx: DType) -> tuple[TensorType, TensorType]:
    check_index("out_idx", out_idx)
    vector(x, "x")
    vector(y, "y")
    return TensorType(x.dtype, (None,)), TensorType(out_idx, (None,))


@host(
    tf="ListDiff", type=_difference_types, no_gradient_known=True,
    padded=lambda x, y, out_idx: ops.absent_numbers(x, y, out_idx=out_idx)[:3],
    cut=lambda values, places, found, out_idx: (values[: found[0]], places[: found[0]]),
)  # fmt: skip
def setdiff1d(x: Any, y: Any, *, out_idx: DType = int32) -> Any:
    """The elements of the vector `x` that are not in `y`, and their places."""
    places = np.flatnonzero(~np.isin(x, y))
    return x[places], places.astype(out_idx.numpy)


def _grouped(partitions: Any, *, num_partitions: int) -> Any:
    flat = ops.reshape(partitions, shape=(math.prod(partitions.shape),))
    return ops.grouped_positions(flat, num_partitions=num_partitions)


def _cut_groups(positions: Any, counts: Any, *, num_partitions: int) -> Any:
    *kept, others = counts.tolist()
    _require_partitions(others == 0, num_partitions)
    return tuple(positions[end - count : end] for count, end in zip(kept, accumulate(kept), strict=True))


def _require_partitions(fit: Any, num_partitions: int) -> None:
    require(fit, f"partitions must be in 0..{num_partitions - 1}")


def _partition_types(partitions: TensorType, num_partitions: int) -> tuple[TensorType, ...]:
    check_partitions(num_partitions)
    return (TensorType(int32, (None,)),) * num_partitions


@host(tf="DynamicPartition", type=_partition_types, dtypes=_INT, padded=_grouped, cut=_cut_groups)
def partition_places(partitions: Any, *, num_partitions: int) -> Any:
    """For each number below `num_partitions`, its flat positions among the `partitions`."""
    which = partitions.reshape(-1)
    _require_partitions(((which >= 0) & (which < num_partitions)).all(), num_partitions)
    return tuple(np.flatnonzero(which == p).astype(np.int32) for p in range(num_partitions))


@host(tf="DynamicStitch", type=lambda indices: TensorType(int32, (None,)), dtypes=_INT)
def stitch_sources(indices: Any) -> Any:
    """Return the last position among the `indices` of each number up to the greatest one."""
    require((indices >= 0).all(), "indices must not be negative")
    count = int(indices.max(initial=-1)) + 1
    require_memory(count * int32.size)
    sources = np.full(count, -1, np.int32)
    sources[indices] = np.arange(len(indices))
    missing = np.flatnonzero(sources < 0)
    require(missing.size == 0, f"no slice is for place {missing[:1]} of {count}")
    return sources
