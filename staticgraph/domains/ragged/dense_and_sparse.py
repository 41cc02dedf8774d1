"""Partitions of dense and sparse tensors into rows.

Rows of a dense one are whole, of given lengths, or without the padding at their ends.
"""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import checked, control_dependencies
from staticgraph.building.inputs import convert_to_tensor, identity
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.debugging.comparisons import assert_non_negative
from staticgraph.domains.ragged.partitions import lengths_of_ids, partition, splits_of_lengths
from staticgraph.sparse.tensor import SparseTensor


def partition_of_tensor(
    x: Tensor, lengths: Any, padding: Any, ragged_rank: int, dtype: DType
) -> tuple[Tensor, ...]:
    """Return the innermost values of rows of a tensor, and the splits of each level, innermost first."""
    with checked("from_tensor"):
        require(
            x.type.rank is not None and x.type.rank > ragged_rank > 0,
            f"tensor has shape {x.shape}, and must have more than ragged_rank={ragged_rank} axes",
        )
    sizes = ops.shape_of(x, out_type=dtype)
    if ragged_rank > 1:  # the inner levels first, of all rows at once
        merged = ops.reshape(x, shape=_with_rest(sizes[2:], dtype))
        inner = partition_of_tensor(merged, None, padding, ragged_rank - 1, dtype)
        return *inner, ops.range(0, sizes[0] + 1, 1, dtype=dtype) * sizes[1]
    if padding is not None:
        differs = ops.not_equal(x, convert_to_tensor(padding, dtype=x.dtype))
        while differs.type.rank is not None and differs.type.rank > 2:
            differs = ops.reduce_any(differs, axis=-1)
        places = ops.range(1, sizes[1] + 1, 1, dtype=dtype)
        lengths = ops.reduce_max(ops.cast(differs, dtype=dtype) * places, axis=1)
    if lengths is None:
        splits = ops.range(0, sizes[0] + 1, 1, dtype=dtype) * sizes[1]
        return ops.reshape(x, shape=_with_rest(sizes[2:], dtype)), splits
    lengths = ops.cast(partition(lengths, "lengths"), dtype=dtype)
    lengths = ops.minimum(ops.maximum(lengths, ops.cast(0, dtype=dtype)), sizes[1])
    columns = ops.expand_dims(ops.range(0, sizes[1], 1, dtype=dtype), axis=0)
    inside = columns < ops.expand_dims(lengths, axis=1)
    return ops.gather_nd(x, ops.where(inside)), splits_of_lengths(lengths)


def _with_rest(sizes: Tensor, dtype: DType) -> Tensor:
    """Return sizes after one that is open."""
    made: Tensor = ops.concat([ops.cast([-1], dtype=dtype), sizes], axis=0)
    return made


def partition_of_sparse(x: SparseTensor, dtype: DType) -> tuple[Tensor, Tensor]:
    """Return the values of rows of a sparse tensor that begin at its first column, and their splits.

    A run refuses rows with gaps.
    """
    with checked("from_sparse"):
        require(x.rank in (None, 2), f"the SparseTensor has {x.rank} axes, not 2")
        rows = ops.cast(x.indices[:, 0], dtype=dtype)
        splits = splits_of_lengths(lengths_of_ids(rows, x.dense_shape[0]))
        places = ops.range(0, ops.cast(ops.size_of(x.values), dtype=dtype), 1, dtype=dtype)
        columns = places - ops.gather(splits, rows, axis=0)
        gaps = ops.cast(x.indices[:, 1], dtype=dtype) - columns
        check = assert_non_negative(-ops.abs(gaps), message="the SparseTensor is not right-ragged")
        with control_dependencies([check] if check is not None else []):
            return x.values, identity(splits)
