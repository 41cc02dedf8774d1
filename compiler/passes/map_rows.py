"""The same computation for each row of a tensor, as a loop."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.closure import close, depends_on
from staticgraph.compiler.graph.dtypes import bool_, int32
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import OPS, ops
from staticgraph.compiler.graph.shapes import TensorType


def map_rows(compute: Callable[[Value], Value], x: Value) -> Value:
    """`compute(row)` for each row of `x`, one above the other: what it computes with is in the cache when the
    next row comes. `compute` is called once, with a value that stands for any row.
    """
    build, count = x.recorder, x.shape[0]
    i = build.fresh_parameter("number", TensorType(int32, ()))
    row = compute(ops.gather(x, i))
    memory = ops.unset(dtype=row.dtype, shape=(count, *row.shape))
    rows = build.fresh_parameter("rows", memory.type)
    results = i + 1 < count, i + 1, ops.row_update(rows, i, row)
    (body,), captured = close(build, (i, rows), [results], depends_on((i, rows), results).__contains__)
    attrs = {"body": body, "carried": 2, "family": build.serial, "bound": count, "exact": True}
    first = build.constant(True, bool_), build.constant(0, int32), memory
    return build.node(OPS["loop"], (*first, *captured), attrs).outputs[1]
