"""Reductions and running sums in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import bool_, int32
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, normalize_axes, normalize_axis
from staticgraph.formats.onnx.write.rules import Use, writes
from staticgraph.formats.onnx.write.value import Held, NoForm, permuted

_OPERATORS = {
    "reduce_sum": "ReduceSum",
    "reduce_prod": "ReduceProd",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_mean": "ReduceMean",
    "euclidean_norm": "ReduceL2",
}


def _reduced(use: Use, operator: str, x: Held, axis: Any, keepdims: bool) -> Held:
    """One node, along the axes where the ONNX value has them."""
    if axis is None and x.type.shape is None:
        return use(
            operator, use.writer.plain(x), type=TensorType(x.dtype, use.type.shape), keepdims=int(keepdims)
        )
    axes = normalize_axes(None if axis is None else use.ints(axis, "axis"), x.rank)
    if not axes:
        return x
    order = x.order or tuple(range(x.rank))
    left = [a for a in order if keepdims or a not in axes]
    now = tuple(sorted(left).index(a) for a in left)  # the axes that are left, as the result has them
    shape = use.type.shape
    type = TensorType(x.dtype, None if shape is None else permuted(shape, now))
    places = use.constant(sorted(order.index(a) for a in axes))
    made = use(operator, x.kept, places, type=type, keepdims=int(keepdims))
    return made.in_order(now)


@writes(*_OPERATORS, keeps_order=True)
def _reduction(use: Use, x: Held, axis: Any, keepdims: bool) -> Any:
    whole = use.op.name in ("reduce_mean", "euclidean_norm") and not x.dtype.is_floating
    if whole:
        return use.by_definition(x, axis=axis, keepdims=keepdims)
    return _reduced(use, _OPERATORS[use.op.name], x, axis, keepdims)


@writes("reduce_all", "reduce_any", keeps_order=True)
def _truths(use: Use, x: Held, axis: Any, keepdims: bool) -> Any:
    """Extremes of 0 and 1. The largest of no numbers is negative, and `any` of nothing is false."""
    numbers = use.writer.cast(x, int32)
    if use.op.name == "reduce_all":
        return use.writer.cast(_reduced(use, "ReduceMin", numbers, axis, keepdims), bool_)
    return ops.greater(_reduced(use, "ReduceMax", numbers, axis, keepdims), use.constant(0, int32))


@writes("cumsum")
def _cumsum(use: Use, x: Held, axis: Any, exclusive: bool, reverse: bool) -> Any:
    (place,) = use.ints(axis, "axis")
    at = use.constant(normalize_axis(place, x.rank))
    return use("CumSum", x, at, exclusive=int(exclusive), reverse=int(reverse))


@writes("cumprod", "cumulative_logsumexp")
def _running(use: Use, x: Held, axis: Any, exclusive: bool, reverse: bool) -> Any:
    """A row for each position that has the elements up to there, combined; ONNX has no such operator."""
    (place,) = use.ints(axis, "axis")
    at = normalize_axis(place, x.rank)
    size = None if x.type.shape is None else x.type.shape[at]
    if size is None:
        raise NoForm("the size of the axis that it runs along must be known")
    mask = np.tri(size, size, -1 if exclusive else 0, bool)
    mask = (mask.T if reverse else mask).reshape(size, size, *(1,) * (x.rank - at - 1))
    product = use.op.name == "cumprod"
    neutral = 1 if product else -np.inf
    rows = ops.select(use.constant(mask, bool_), ops.expand_dims(x, axis=at), use.constant(neutral, x.dtype))
    if product:
        return ops.reduce_prod(rows, axis=(at + 1,))
    largest = ops.reduce_max(rows, axis=(at + 1,), keepdims=True)
    shift = ops.select(ops.is_finite(largest), largest, 0)
    total = ops.log(ops.reduce_sum(ops.exp(rows - shift), axis=(at + 1,)))
    return total + ops.squeeze(shift, axis=(at + 1,))
