"""Ops whose result has as many elements as their data say: where, unique, setdiff1d, dynamic partitions.

A compiled program has fixed shapes, so what decides the size must be known when the graph is compiled:
constants, shapes, and feeds (the graph is compiled again for every new value of such a feed). A tensor that
is computed from variables gives an error that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, DType, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.samples import Sample, real


def _known(*arrays: tuple[np.ndarray, DType]) -> Any:
    """Values for arrays that were computed while compiling."""
    made = tuple(ops.constant(value=Literal.of(array, dtype)) for array, dtype in arrays)
    return made if len(made) > 1 else made[0]


def _depends(operand: Any) -> bool:
    """Whether an operand, or an entry of it, is not known yet."""
    return operand is None or (isinstance(operand, tuple) and None in operand)


def _where_type(condition: Any, rank: int | None = None) -> TensorType:
    if _depends(condition):
        return TensorType(int64, (None, rank) if rank is not None else (None, None))
    return TensorType(int64, _where(condition).shape)


def _where(condition: Any, rank: int | None = None) -> np.ndarray:
    return np.argwhere(np.asarray(condition)).astype(np.int64)


@composite(
    tf="Where",
    type=_where_type,
    numpy=_where,
    operands=("condition",),
    partial=("condition",),
    differentiable=False,
    samples=[
        Sample(condition=((True, False), (False, True))),
        Sample(condition=(0.0, 2.0, 3.0)),
        Sample(condition=(False,)),
    ],
)
def where(*, condition: Any, rank: int | None = None) -> Any:
    """The positions of the elements of `condition` that are true or not zero, in row-major order.

    int64 of shape [count, rank]; `rank`, that of the condition, is for graphs where its value is not known.
    """
    return _known((_where(condition), int64))


def _in_order(x: Any, dtype: DType) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different elements in order of first appearance,
    where each element is among them, how often they occur.
    """
    _, first, inverse, counts = np.unique(
        np.asarray(x, dtype.numpy).reshape(-1), return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(x, dtype.numpy).reshape(-1)[first[order]], place[inverse], counts[order]


def _unique_types(x: Any, dtype: DType, out_idx: DType) -> tuple[TensorType, TensorType, TensorType]:
    count = None if _depends(x) else len(dict.fromkeys(x))
    return (
        TensorType(dtype, (count,)),
        TensorType(out_idx, (None if x is None else len(x),)),
        TensorType(out_idx, (count,)),
    )


def _unique(x: Any, dtype: DType, out_idx: DType) -> tuple[np.ndarray, ...]:
    values, places, counts = _in_order(x, dtype)
    return values, places.astype(out_idx.numpy), counts.astype(out_idx.numpy)


_UNIQUE = [
    Sample(x=(3, 1, 3, 2, 1), dtype=int32, out_idx=int32), Sample(x=(), dtype=int64, out_idx=int32),
    Sample(x=(5,), dtype=int64, out_idx=int64),
]  # fmt: skip


@composite(
    tf="Unique",
    type=lambda x, dtype, out_idx=int32: _unique_types(x, dtype, out_idx)[:2],
    operands=("x",),
    partial=("x",),
    numpy=lambda x, dtype, out_idx=int32: _unique(x, dtype, out_idx)[:2],
    differentiable=False,
    samples=_UNIQUE,
)
def unique(*, x: Any, dtype: DType, out_idx: DType = int32) -> Any:
    """The different elements of the vector `x` in order of first appearance, and the place of each in them.

    They are of `dtype`, which is that of `x`; the places are of `out_idx`.
    """
    values, places, _ = _in_order(x, dtype)
    return _known((values, dtype), (places, out_idx))


@composite(
    tf="UniqueWithCounts",
    type=lambda x, dtype, out_idx=int32: _unique_types(x, dtype, out_idx),
    operands=("x",),
    partial=("x",),
    numpy=lambda x, dtype, out_idx=int32: _unique(x, dtype, out_idx),
    differentiable=False,
    samples=_UNIQUE,
)
def unique_with_counts(*, x: Any, dtype: DType, out_idx: DType = int32) -> Any:
    """As `unique`, of `x` with elements of `dtype`, and how often each one occurs, in `out_idx`."""
    values, places, counts = _in_order(x, dtype)
    return _known((values, dtype), (places, out_idx), (counts, out_idx))


def _difference(x: Any, y: Any, dtype: DType, index_dtype: DType = int32) -> tuple[np.ndarray, np.ndarray]:
    left = np.asarray(x, dtype.numpy).reshape(-1)
    places = np.flatnonzero(~np.isin(left, np.asarray(y, dtype.numpy).reshape(-1)))
    return left[places], places.astype(index_dtype.numpy)


def _difference_types(
    x: Any, y: Any, dtype: DType, index_dtype: DType = int32
) -> tuple[TensorType, TensorType]:
    count = None if _depends(x) or _depends(y) else len(_difference(x, y, dtype)[0])
    return TensorType(dtype, (count,)), TensorType(index_dtype, (count,))


@composite(
    tf="ListDiff",
    type=_difference_types,
    numpy=_difference,
    operands=("x", "y"),
    partial=("x", "y"),
    differentiable=False,
    samples=[
        Sample(x=(3, 1, 3, 2), y=(3,), dtype=int32),
        Sample(x=(1, 2), y=(1, 2), dtype=int64),
        Sample(x=(4,), y=(), dtype=int32),
    ],
)
def setdiff1d(*, x: Any, y: Any, dtype: DType, index_dtype: DType = int32) -> Any:
    """The elements of the vector `x` that are not in `y`, both of `dtype`; their places in `index_dtype`."""
    values, places = _difference(x, y, dtype)
    return _known((values, dtype), (places, index_dtype))


def _partition_types(data: TensorType, partitions: Any, num_partitions: int) -> tuple[TensorType, ...]:
    if _depends(partitions) or data.shape is None:
        return (TensorType(data.dtype, None),) * num_partitions
    which = np.asarray(partitions)
    lead = data.shape[: which.ndim]
    require(
        all(n in (None, m) for n, m in zip(lead, which.shape, strict=True)),
        f"partitions of shape {list(which.shape)} do not fit data of shape {list(data.shape)}",
    )
    require(((which >= 0) & (which < num_partitions)).all(), f"partitions must be in 0..{num_partitions - 1}")
    counts = [int((which == p).sum()) for p in range(num_partitions)]
    return tuple(TensorType(data.dtype, (n, *data.shape[which.ndim :])) for n in counts)


def _partition(data: np.ndarray, partitions: Any, num_partitions: int) -> Any:
    parts = tuple(data[np.asarray(partitions) == p] for p in range(num_partitions))
    return parts if num_partitions != 1 else parts[0]


@composite(
    tf="DynamicPartition",
    type=_partition_types,
    numpy=_partition,
    operands=("partitions",),
    partial=("partitions",),
    dtypes=ANY,
    samples=[
        Sample(real(4, 2), partitions=(0, 1, 1, 0), num_partitions=2),
        Sample(real(3), partitions=(2, 0, 2), num_partitions=3),
        Sample(real(2, 2), partitions=((1, 0), (0, 1)), num_partitions=2),
    ],
)
def dynamic_partition(data: Any, *, partitions: Any, num_partitions: int) -> tuple[Any, ...]:
    """The slices of `data` sorted by the numbers in `partitions` into `num_partitions` tensors."""
    which = np.asarray(partitions)
    flat = ops.reshape(data, shape=(which.size, *data.shape[which.ndim :]))
    return tuple(_rows(flat, np.flatnonzero(which == p)) for p in range(num_partitions))


def _rows(x: Any, places: Sequence[int] | np.ndarray) -> Any:
    return ops.gather(x, np.asarray(places, np.int32))


def _stitch_type(data: TensorType, indices: Any) -> TensorType:
    rest = None if data.shape is None else data.shape[1:]
    count = None if _depends(indices) else max(indices, default=-1) + 1
    return TensorType(data.dtype, None if rest is None else (count, *rest))


def _stitch_sources(indices: Any) -> np.ndarray:
    """The row of the data that each row of the result comes from; -1 for none."""
    source = np.full(max(indices, default=-1) + 1, -1, np.int32)
    source[np.asarray(indices, np.int64)] = np.arange(len(indices))
    return source


def _stitch(data: np.ndarray, indices: Any) -> np.ndarray:
    out = np.zeros((max(indices, default=-1) + 1, *data.shape[1:]), data.dtype)
    for place, row in zip(indices, data, strict=True):
        out[place] = row
    return out


@composite(
    tf="DynamicStitch",
    type=_stitch_type,
    numpy=_stitch,
    operands=("indices",),
    partial=("indices",),
    dtypes=ANY,
    samples=[
        Sample(real(3, 2), indices=(2, 0, 1)),
        Sample(real(3), indices=(0, 3, 0)),
        Sample(real(0, 2), indices=()),
    ],
)
def dynamic_stitch(data: Any, *, indices: Any) -> Any:
    """Row i of `data` at row indices[i] of the result; the last one counts where several have one place."""
    return _rows(data, _stitch_sources(indices))
