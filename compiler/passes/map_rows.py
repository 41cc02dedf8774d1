"""The same computation for each row of tensors, as a loop: what it needs is in the cache for the next one."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.closure import close, depends_on
from staticgraph.compiler.graph.dtypes import bool_, int32
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import OPS, ops
from staticgraph.compiler.graph.shapes import TensorType

Compute = Callable[..., Value]  # is called once, with values that stand for any rows


def map_rows(compute: Compute, *tensors: Value) -> Value:
    """`compute(*rows)` for the rows of `tensors` at each position, one above the other."""
    build, count = tensors[0].recorder, tensors[0].shape[0]
    i = build.fresh_parameter("number", TensorType(int32, ()))
    row = compute(*(ops.gather(tensor, i) for tensor in tensors))
    memory = ops.unset(dtype=row.dtype, shape=(count, *row.shape))
    rows = build.fresh_parameter("rows", memory.type)
    return _loop(count, i, rows, memory, ops.row_update(rows, i, row))


def sum_rows(compute: Compute, *tensors: Value) -> Value:
    """The sum of `compute(*rows)` over the positions of the rows of `tensors`."""
    build, count = tensors[0].recorder, tensors[0].shape[0]
    i = build.fresh_parameter("number", TensorType(int32, ()))
    row = compute(*(ops.gather(tensor, i) for tensor in tensors))
    total = build.fresh_parameter("total", row.type)
    zeros = ops.fill(build.constant(0, row.dtype), dims=row.shape)
    return _loop(count, i, total, zeros, total + row)


def _loop(count: int, i: Value, carried: Value, first: Value, result: Value) -> Value:
    """What `carried` is after `count` rounds, in which it begins as `first` and becomes `result`."""
    build = i.recorder
    results = i + 1 < count, i + 1, result
    (body,), captured = close(build, (i, carried), [results], depends_on((i, carried), results).__contains__)
    attrs = {"body": body, "carried": 2, "family": build.serial, "bound": count, "exact": True}
    inputs = build.constant(True, bool_), build.constant(0, int32), first, *captured
    return build.node(OPS["loop"], inputs, attrs).outputs[1]
