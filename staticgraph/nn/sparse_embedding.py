"""Rows of tables combined for each row of a sparse matrix of numbers: part of `sg.nn`."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.reductions import reduce_prod
from staticgraph.nn.embedding import embedding_lookup
from staticgraph.sparse.structure import fill_empty_rows, reshape, retain
from staticgraph.sparse.tensor import SparseTensor, as_sparse
from staticgraph.state.variables import parts_of

_COMBINERS = ("sum", "mean", "sqrtn")
_WEIGHTED = {"sum": 24, "mean": 26, "sqrtn": 29}  # TensorFlow's operations, with weights
_SAFELY_WEIGHTED = {"sum": 28, "mean": 48, "sqrtn": 51}  # those of weights in `safe_embedding_lookup_sparse`
_CLIPPING = 17  # those of `max_norm`


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """For each row of the sparse matrix `sp_ids`, the rows of the table `params` with its numbers, combined.

    `sp_weights` is a SparseTensor of weights at the same places, or None for weights of one. `combiner`
    'mean' (the default) divides the weighted sum by the sum of the weights, 'sqrtn' by the square root of the
    sum of their squares, 'sum' not at all. Every row must have a number: `safe_embedding_lookup_sparse` takes
    rows without. For `params`, `partition_strategy` and `max_norm` see `embedding_lookup`.

    >>> import staticgraph as sg
    >>> ids = sg.SparseTensor([[0, 0], [0, 1], [1, 0]], [3, 1, 4], [2, 2])
    >>> sg.nn.embedding_lookup_sparse(sg.ones([10, 8]), ids, None, combiner="sum").shape.as_list()
    [2, 8]
    """
    return _combined(params, sp_ids, sp_weights, partition_strategy, name, combiner, max_norm, None)


def _combined(
    params: Any, sp_ids: Any, sp_weights: Any, partition_strategy: str, name: str | None,
    combiner: str | None, max_norm: float | None, count: Tensor | None,
) -> Tensor:  # fmt: skip
    """`embedding_lookup_sparse`. `count`: how many rows `sp_ids` has, if each has a number, else None."""
    combiner = combiner or "mean"
    ids = as_sparse(sp_ids)
    weights = None if sp_weights is None else as_sparse(sp_weights).values
    graph = get_default_graph()
    made = 10 if weights is None else _WEIGHTED.get(combiner, 0)
    with (
        name_scope(name, "embedding_lookup_sparse", [ids]),
        checked("embedding_lookup_sparse"),
        counted_as(graph, made if max_norm is None else made + _CLIPPING),
    ):
        require(combiner in _COMBINERS, f"combiner {combiner!r} is not one of {', '.join(_COMBINERS)}")
        rows = ids.indices[:, 0]
        found = embedding_lookup(params, ids.values, partition_strategy, max_norm=max_norm)
        weights = ops.ones_like(ids.values) if weights is None else weights
        weights = ops.cast(weights, dtype=found.dtype)
        each = ops.reshape(weights, shape=(-1, *(1 for _ in (found.type.shape or ())[1:])))
        total = ops.segment_sum(found * each, rows, num_segments=count)
        if combiner == "sum":
            return total
        power = each if combiner == "mean" else each * each
        size = ops.segment_sum(power, rows, num_segments=count)
        return total / (size if combiner == "mean" else ops.sqrt(size))


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """`embedding_lookup_sparse` that leaves out negative numbers, and takes rows without any.

    Such a row gets the row `default_id` of the table, or zeros. Weights that are not positive are left out
    too, but for the combiner 'sum'. `sparse_ids` may have more axes: the last one is combined.
    """
    ids = as_sparse(sparse_ids)
    weights = None if sparse_weights is None else as_sparse(sparse_weights)
    count = 56 if ids.rank is not None else 62
    count += _SAFELY_WEIGHTED.get(combiner or "mean", 0) if weights is not None else 0
    count += _CLIPPING if max_norm is not None else 0
    with name_scope(name, "embedding_lookup", [ids]), counted_as(get_default_graph(), count):
        rank, lead = ids.rank, ids.dense_shape[:-1]
        flat = ops.concat([ops.reshape(reduce_prod(lead), shape=(1,)), ids.dense_shape[-1:]], axis=0)
        ids = reshape(ids, flat)
        weights = None if weights is None else SparseTensor(ids.indices, weights.values, ids.dense_shape)
        ids, weights = _usable(ids, weights, combiner)
        ids, empty = fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = fill_empty_rows(weights, 1.0)
        given = embedding_weights
        tables = list(given) if isinstance(given, list | tuple) else parts_of(given)
        rows = ids.dense_shape[0]
        made = _combined(tables, ids, weights, partition_strategy, None, combiner, max_norm, rows)
        if default_id is None:
            made = ops.select(ops.expand_dims(empty, axis=1), ops.zeros_like(made), made)
        sizes = ops.concat([lead, ops.shape_of(made, out_type=int64)[1:]], axis=0)
        made = ops.reshape(made, shape=sizes)
        first = convert_to_tensor(tables[0])
        if rank is not None:
            made.set_shape([*(None for _ in range(rank - 1)), *(first.type.shape or (None, None))[1:]])
        return made


def _usable(
    ids: SparseTensor, weights: SparseTensor | None, combiner: str | None
) -> tuple[SparseTensor, SparseTensor | None]:
    """Drop negative ids, and ids whose weight is not positive unless the combiner is "sum"."""
    kept = ops.greater_equal(ids.values, np.zeros((), ids.dtype.numpy))
    if weights is None:
        return retain(ids, kept), None
    if combiner != "sum":
        kept = ops.logical_and(kept, ops.greater(weights.values, 0.0))
    return retain(ids, kept), retain(weights, kept)
