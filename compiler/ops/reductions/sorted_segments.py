"""Reductions over groups of neighbouring slices, whose sorted ids decide how many groups there are.

    segment_sum(data, ids)   ->   unsorted_segment_sum(data, ids, num_segments=the greatest id + 1)

A user's graph leaves `num_segments` out. If the ids are fed, an earlier stage of the run finds it out
(`segment_count`), and it is an open size: one program serves all ids.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import NUMERIC, as_dtype, int64, sum_dtype
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, merge
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.arrays.movement import INDEX
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.reductions.segment import (
    ORDERED,
    largest,
    products,
    smallest,
    sums,
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)
from staticgraph.compiler.ops.samples import Sample, distinct, fixed, indices

_MOST = np.int64(2**63 - 2)  # an id of 2**63 - 1 asks for more segments than int64 can tell, and than can be


def _check_ids(segment_ids: TensorType) -> None:
    require(
        segment_ids.rank in (None, 1), f"segment_ids must be a vector, and have rank {segment_ids.rank}"
    )


def _count_type(segment_ids: TensorType) -> TensorType:
    _check_ids(segment_ids)
    return TensorType(int64, ())


def _counted(segment_ids: np.ndarray) -> np.ndarray:
    return np.minimum(np.asarray(segment_ids.max(initial=-1), np.int64), _MOST) + np.int64(1)


@composite(
    type=_count_type, numpy=_counted, dtypes=INDEX, differentiable=False,
    samples=[Sample(indices(7, below=5)), Sample(indices(1, below=3, dtype="int64")),
             Sample(indices(0, below=1))],
)  # fmt: skip
def segment_count(segment_ids: Any) -> Any:
    """The number of segments that a vector of ids tells: the greatest id and one more, 0 if there is none."""
    most = ops.reduce_max(ops.cast(segment_ids, dtype=int64))
    return ops.minimum(ops.maximum(most, np.int64(-1)), _MOST) + np.int64(1)


def _type(data: TensorType, segment_ids: TensorType, num_segments: AnySize | None = None) -> TensorType:
    _check_ids(segment_ids)
    if data.shape is None:
        return TensorType(data.dtype, None)
    require(len(data.shape) > 0, "the data must have an axis, whose slices are combined")
    merge(data.shape[:1], segment_ids.shape, "there must be an id for each slice of the data:")
    return TensorType(data.dtype, (num_segments, *data.shape[1:]))


def _given(segment_ids: np.ndarray, num_segments: int | None) -> int:
    return int(_counted(segment_ids)) if num_segments is None else num_segments


def _sizes(segment_ids: np.ndarray, num_segments: int) -> np.ndarray:
    """Return how many slices each segment has."""
    return np.bincount(segment_ids, minlength=num_segments)[:num_segments]


def _numpy(unsorted: Callable[..., np.ndarray], empty: Any) -> Callable[..., np.ndarray]:
    def reference(data: np.ndarray, segment_ids: np.ndarray, num_segments: int | None = None) -> np.ndarray:
        out = unsorted(data, segment_ids, _given(segment_ids, num_segments))
        out[_sizes(segment_ids, len(out)) == 0] = empty
        return out

    return reference


def _slices(data: Any, segment_ids: Any, num_segments: AnySize) -> Any:
    """Return how many slices each segment has, with the rank of the data."""
    ones = ops.fill(data.recorder.constant(1, int64), dims=segment_ids.shape)
    found = unsorted_segment_sum(ones, segment_ids, num_segments=num_segments)
    return ops.reshape(found, shape=(num_segments, *(1,) * (data.rank - 1)))


def _zero_if_empty(op: OpDef, data: Any, segment_ids: Any, num_segments: AnySize) -> Any:
    reduced = op(data, segment_ids, num_segments=num_segments)
    filled = ops.broadcast_to(ops.greater(_slices(data, segment_ids, num_segments), 0), shape=reduced.shape)
    return ops.select(filled, reduced, ops.zeros_like(reduced))


def _sorted(name: str) -> dict[str, Any]:
    """Return what the records of these ops have in common."""
    return {
        "type": _type,
        "counted": "segment_count",
        "operands": ("num_segments",),
        "partial": ("num_segments",),
        "vars": {"segment_ids": "I"},
        "differentiable": (0,),
        "requires": lambda data, segment_ids, num_segments=None: [
            ops.is_sorted(segment_ids, of=name, operand="segment_ids")
        ],
        "samples": [
            Sample(distinct(5, 2), _ids(0, 0, 1, 3, 3), num_segments=4),
            Sample(distinct(3), _ids(0, 1, 2), num_segments=3),
            Sample(distinct(2, 2, 2), _ids(1, 1), num_segments=2),
            Sample(distinct(0, 2), indices(0, below=1), num_segments=0),
        ],
    }


def _ids(*numbers: int) -> Any:
    return fixed(np.array(numbers), "int32")


@composite(
    tf="SegmentSum", numpy=_numpy(sums, 0), dtypes={"T": NUMERIC, "I": INDEX}, **_sorted("segment_sum")
)
def segment_sum(data: Any, segment_ids: Any, *, num_segments: Any = None) -> Any:
    """The sum of the slices with equal `segment_ids`, a sorted vector; 0 for an id left out.

    There are `num_segments`, by default as many as the ids tell.
    """
    return unsorted_segment_sum(data, segment_ids, num_segments=num_segments)


@composite(
    tf="SegmentProd", numpy=_numpy(products, 1), dtypes={"T": NUMERIC, "I": INDEX}, **_sorted("segment_prod")
)
def segment_prod(data: Any, segment_ids: Any, *, num_segments: Any = None) -> Any:
    """The product of the slices with equal `segment_ids`, a sorted vector; 1 for an id left out.

    There are `num_segments`, by default as many as the ids tell.
    """
    return unsorted_segment_prod(data, segment_ids, num_segments=num_segments)


@composite(
    tf="SegmentMax", numpy=_numpy(largest, 0), dtypes={"T": ORDERED, "I": INDEX}, **_sorted("segment_max")
)
def segment_max(data: Any, segment_ids: Any, *, num_segments: Any = None) -> Any:
    """The largest of the slices with equal `segment_ids`, a sorted vector; 0 for an id left out.

    There are `num_segments`, by default as many as the ids tell.
    """
    return _zero_if_empty(unsorted_segment_max, data, segment_ids, num_segments)


@composite(
    tf="SegmentMin", numpy=_numpy(smallest, 0), dtypes={"T": ORDERED, "I": INDEX}, **_sorted("segment_min")
)
def segment_min(data: Any, segment_ids: Any, *, num_segments: Any = None) -> Any:
    """The smallest of the slices with equal `segment_ids`, a sorted vector; 0 for an id left out.

    There are `num_segments`, by default as many as the ids tell.
    """
    return _zero_if_empty(unsorted_segment_min, data, segment_ids, num_segments)


def _mean_numpy(data: np.ndarray, segment_ids: np.ndarray, num_segments: int | None = None) -> np.ndarray:
    whole = data.dtype.kind in "iu"
    wide = data.astype(sum_dtype(as_dtype(data.dtype)).numpy) if whole else data
    total = _numpy(sums, 0)(wide, segment_ids, num_segments)
    slices = np.maximum(_sizes(segment_ids, len(total)), 1)
    slices = slices.reshape(-1, *(1,) * (data.ndim - 1)).astype(wide.dtype)
    if whole:
        return scalar.truncdiv(total, np.broadcast_to(slices, total.shape)).astype(data.dtype)
    return total / slices


@composite(
    tf="SegmentMean", wide=True, numpy=_mean_numpy, dtypes={"T": NUMERIC, "I": INDEX},
    **_sorted("segment_mean"),
)  # fmt: skip
def segment_mean(data: Any, segment_ids: Any, *, num_segments: Any = None) -> Any:
    """The mean of the slices with equal `segment_ids`, a sorted vector; 0 for an id left out.

    That of integers is rounded towards zero. There are `num_segments`, by default as many as the ids tell.
    """
    dtype = sum_dtype(data.dtype)
    total = unsorted_segment_sum(ops.cast(data, dtype=dtype), segment_ids, num_segments=num_segments)
    slices = ops.cast(ops.maximum(_slices(data, segment_ids, num_segments), np.int64(1)), dtype=dtype)
    divide = ops.truncatediv if dtype.is_integer else ops.realdiv
    return ops.cast(divide(total, slices), dtype=data.dtype)
