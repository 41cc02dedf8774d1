"""Rows of tables by their numbers, with TensorFlow 1's names: part of `sg.nn`."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import concat, reshape, shape, size
from staticgraph.arrays.creation import range as range_
from staticgraph.arrays.indexing import dynamic_partition, dynamic_stitch, where
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.recording.op_count import count_more
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.clip import root_of_squares
from staticgraph.mathematics.math_ops import add_n
from staticgraph.mathematics.reductions import reduce_sum
from staticgraph.state.variables import parts_of


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows `ids` of a table: shape of `ids`, then that of a row.

    `params` is the table, or a partitioned variable or list of tables that hold its rows in turn ('mod': row
    i is in table i % n) or one after the other ('div'). With `max_norm`, rows of greater Euclidean norm are
    scaled down to it.

    >>> import staticgraph as sg
    >>> table = sg.placeholder(sg.float32, [1000, 64])
    >>> sg.nn.embedding_lookup(table, sg.placeholder(sg.int32, [None, 7])).shape.as_list()
    [None, 7, 64]
    """
    tables = list(params) if isinstance(params, list | tuple) else parts_of(params)
    if not tables:
        raise misuse(ValueError, "embedding_lookup: params is an empty list")
    if partition_strategy not in ("mod", "div"):
        raise misuse(
            ValueError,
            f"embedding_lookup: partition_strategy {partition_strategy!r} is neither 'mod' nor 'div'",
        )
    with name_scope(name, "embedding_lookup", [*tables, ids]) as scope:
        tables = [convert_to_tensor(t) for t in tables]
        ids = convert_to_tensor(ids, name="ids")
        if len(tables) == 1:
            rows = ops.gather(tables[0], ids, axis=0, name=scope)
        elif ids.graph.region is None:
            rows = _parted(tables, ids, partition_strategy)
        else:  # parts whose sizes data decide would be done in Python, round for round
            rows = ops.gather(_joined(tables, partition_strategy), ids, axis=0, name=scope)
        if len(tables) > 1:
            count_more(rows.graph, -6 if partition_strategy == "mod" else -3)
        if max_norm is not None:
            count_more(rows.graph, 4)
        rows = ops.identity(rows, name="Identity") if max_norm is None else rows
        return rows if max_norm is None else _clipped(rows, ids, max_norm)


def _parted(tables: list[Tensor], ids: Tensor, strategy: str) -> Tensor:
    """The rows from each table by itself, so that an optimizer updates only those that were looked up."""
    flat = reshape(ids, [-1])
    table, row = _places(tables, flat, strategy)
    table = ops.cast(table, dtype=int32)
    rows = dynamic_partition(row, table, len(tables))
    order = dynamic_partition(range_(size(flat)), table, len(tables))
    found = [ops.gather(each, numbers, axis=0) for each, numbers in zip(tables, rows, strict=True)]
    made = reshape(dynamic_stitch(order, found), concat([shape(ids), shape(tables[0])[1:]], 0))
    made.set_shape(ids.shape.concatenate(tables[0].shape[1:]))
    return made


def _places(tables: list[Tensor], ids: Tensor, strategy: str) -> tuple[Tensor, Tensor]:
    """The table of each id, and the row in it. The first tables may have one row more than the last."""
    count = len(tables)
    if strategy == "mod":
        return ids % count, ids // count
    sizes = [each.shape[0].value for each in tables]
    if None in sizes:
        total = ops.cast(add_n([shape(each)[0] for each in tables]), dtype=ids.dtype)
        shortest, longer = total // count, total % count
    else:
        shortest, longer = (convert_to_tensor(n, ids.dtype) for n in divmod(sum(sizes), count))
    table = ops.maximum(ids // (shortest + 1), (ids - longer) // shortest)
    row = where(table < longer, ids % (shortest + 1), (ids - longer) % shortest)
    return table, row


def _joined(tables: list[Tensor], strategy: str) -> Tensor:
    """All rows in one table. For 'mod' the first tables may have one row more than the last."""
    if strategy == "div":
        return ops.concat(tables, axis=0)
    sizes = [t.shape[0].value for t in tables]
    if None in sizes:
        raise misuse(ValueError, "embedding_lookup: the numbers of rows of the tables must be known")
    order = sorted(
        (row * len(tables) + i, sum(sizes[:i]) + row) for i, n in enumerate(sizes) for row in range(n)
    )
    return ops.gather(
        ops.concat(tables, axis=0), convert_to_tensor([place for _, place in order], dtype=int32), axis=0
    )


def _clipped(rows: Tensor, ids: Tensor, max_norm: float) -> Tensor:
    """Rows scaled down where their norm exceeds `max_norm`."""
    axes = list(range(ids.shape.ndims or 0, rows.shape.ndims or 0))
    norm = root_of_squares(reduce_sum(rows * rows, axes, keepdims=True))
    return rows * (max_norm / ops.maximum(norm, max_norm))
