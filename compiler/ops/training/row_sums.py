"""Sums of the slices of a gradient that are of the same row."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.ops.kinds import sizes


def summed_by_row(values: Any, indices: Any, rows: Any) -> Any:
    """Slices of which each is the sum of all slices of its row, of the `rows` of a variable.

    So no shape depends on how many rows are distinct: a row that is listed several times gets the same new
    value several times.
    """
    numbers = ops.range(start=1, limit=sizes(indices)[0] + 1, delta=1, dtype=int32)
    columns = ops.expand_dims(indices, axis=-1)
    last = ops.gather(ops.tensor_scatter_update(ops.fill(0, dims=[rows]), columns, numbers), indices, axis=0)
    summed = ops.scatter_nd(ops.expand_dims(last - 1, axis=-1), values, shape=sizes(values))
    return ops.gather(summed, last - 1, axis=0)
