"""Rows of tables by their numbers, with TensorFlow 1's names: part of `sg.nn`."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.clip import root_of_squares
from staticgraph.mathematics.reductions import reduce_sum

__all__ = ["embedding_lookup"]


def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows `ids` of a table: shape of `ids`, then that of a row.

    `params` is the table, or a list of tables that hold its rows in turn ('mod': row i is in table i % n) or
    one after the other ('div'). With `max_norm`, rows of greater Euclidean norm are scaled down to it.

    >>> import staticgraph as sg
    >>> table = sg.placeholder(sg.float32, [1000, 64])
    >>> sg.nn.embedding_lookup(table, sg.placeholder(sg.int32, [None, 7])).shape.as_list()
    [None, 7, 64]
    """
    tables = list(params) if isinstance(params, list | tuple) else [params]
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
        else:
            rows = ops.gather(_joined(tables, partition_strategy), ids, axis=0, name=scope)
        rows = ops.identity(rows, name="Identity") if max_norm is None else rows
        return rows if max_norm is None else _clipped(rows, ids, max_norm)


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
