"""Nodes of sparse tensors, whose parts are tensors by themselves: indices, values, shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.arrays.indexing import where
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node, reads, several
from staticgraph.mathematics.sparse_segments import (
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)
from staticgraph.sparse import math as sparse_math
from staticgraph.sparse import structure
from staticgraph.sparse.crossing import cross_op
from staticgraph.sparse.tensor import SparseTensor


def _parts(node: Node, made: SparseTensor) -> Any:
    return several(node, made.indices, made.values, made.dense_shape)


@reads("SparseToDense")
def _to_dense(node: Node) -> Any:
    indices, shape, values, default = node.tensors
    validate = node.attrs.get("validate_indices", True)
    made = structure.sparse_to_dense(indices, shape, values, default, validate)
    return ops.identity(made, name=node.out)


@reads("SparseTensorDenseMatMul")
def _product(node: Node) -> Any:
    indices, values, shape, dense = node.tensors
    told = {f"adjoint_{name}": node.attrs[f"adjoint_{name}"] for name in "ab"}
    sparse = SparseTensor(ops.cast(indices, dtype=int64), values, shape)
    return ops.identity(sparse_math.matmul(sparse, dense, **told), name=node.out)


@reads("SparseReorder")
def _reorder(node: Node) -> Any:
    made = structure.reorder(SparseTensor(*node.tensors))
    return several(node, made.indices, made.values)


@reads("SparseReshape")
def _reshape(node: Node) -> Any:
    indices, shape, wanted = node.tensors
    count = ops.shape_of(indices)[:1]
    made = structure.reshape(SparseTensor(indices, ops.fill(0, dims=count), shape), wanted)
    return several(node, made.indices, made.dense_shape)


@reads("SparseConcat")
def _concat(node: Node) -> Any:
    (_, indices), (_, values), (_, shapes) = node.arguments()
    given = [SparseTensor(*parts) for parts in zip(indices, values, shapes, strict=True)]
    return _parts(node, structure.concat(node.attrs["concat_dim"], given))


@reads("SparseSlice")
def _slice(node: Node) -> Any:
    *parts, start, size = node.tensors
    return _parts(node, structure.slice(SparseTensor(*parts), start, size))


@reads("SparseReduceSum")
def _reduce_sum(node: Node) -> Any:
    *parts, axes = node.tensors
    known = static_value(axes)
    if known is None:
        raise GraphDefError("its axes must be constants")
    made = sparse_math.reduce_sum(SparseTensor(*parts), np.asarray(known).tolist(), node.attrs["keep_dims"])
    return ops.identity(made, name=node.out)


@reads("SparseFillEmptyRows")
def _fill_empty_rows(node: Node) -> Any:
    *parts, default = node.tensors
    given = SparseTensor(*parts)
    made, empty = structure.fill_empty_rows(given, default)
    before = ops.cumsum(ops.cast(empty, dtype=int64))  # rows of their own: what comes later moves back by one
    at = ops.range(0, ops.shape_of(given.values, out_type=int64)[0], 1, dtype=int64)
    moved = at + ops.gather(before, given.indices[:, 0], axis=0)
    return several(node, made.indices, made.values, empty, moved)


@reads("SparseFillEmptyRowsGrad")
def _fill_empty_rows_slope(node: Node) -> Any:
    places, slopes = node.tensors
    given = ops.gather(slopes, places, axis=0)
    return several(node, given, ops.reduce_sum(slopes) - ops.reduce_sum(given))


@reads("SparseCross")
def _cross(node: Node) -> Any:
    if not node.attrs["hashed_output"]:
        raise GraphDefError("it gives strings, and only numbers of categories are read")
    (_, indices), (_, values), (_, shapes), (_, dense) = node.arguments()
    parts = [part for each in zip(indices, values, shapes, strict=True) for part in each]
    for each in dense:
        at = where(ops.equal(each, each))  # all of its elements
        parts += [at, ops.gather_nd(each, at), ops.shape_of(each, out_type=int64)]
    buckets = node.attrs["num_buckets"] or 2**63 - 1
    made = cross_op(parts, num_buckets=buckets, hash_key=node.attrs["hash_key"])
    return several(node, *made)


# Sums of rows by segments

_SEGMENTS: dict[str, Callable[..., Tensor]] = {
    "SparseSegmentMean": sparse_segment_mean,
    "SparseSegmentSqrtN": sparse_segment_sqrt_n,
    "SparseSegmentSum": sparse_segment_sum,
}


@reads(*_SEGMENTS)
def _segments(node: Node) -> Any:
    return ops.identity(_SEGMENTS[node.type](*node.tensors), name=node.out)


@reads("SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad")
def _segments_slope(node: Node) -> Any:
    slopes, indices, segments, rows = node.tensors
    ones = ops.ones_like(ops.cast(segments, dtype=slopes.dtype))
    sizes = ops.maximum(ops.unsorted_segment_sum(ones, segments, num_segments=ops.shape_of(slopes)[0]), 1.0)
    weights = 1.0 / (sizes if node.type == "SparseSegmentMeanGrad" else ops.sqrt(sizes))
    rank = slopes.type.rank
    if rank is None:
        raise GraphDefError("the number of axes of what is summed must be known")
    weighted = slopes * ops.reshape(weights, shape=[-1, *[1] * (rank - 1)])
    each = ops.gather(weighted, segments, axis=0)
    return ops.unsorted_segment_sum(each, indices, num_segments=rows, name=node.out)
