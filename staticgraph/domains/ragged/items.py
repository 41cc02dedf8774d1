"""Parts of ragged tensors by index: rows by number or slice, then values of each row."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import name_scope
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.ragged.functions import expand_dims, rows_between
from staticgraph.domains.ragged.tensor import RaggedTensor


def getitem(x: RaggedTensor, key: Any) -> Any:
    """Rows by number or slice, then values of each row."""
    keys = list(key) if isinstance(key, tuple) else [key]
    with name_scope(None, "RaggedGetItem"):
        return _item(x, keys)


def _item(x: Any, keys: list[Any]) -> Any:
    if not keys:
        return x
    if not isinstance(x, RaggedTensor):
        return x[tuple(keys)]
    key, *rest = keys
    if key is Ellipsis:
        missing = (x.shape.ndims or len(rest)) - len(rest)
        return _item(x, [slice(None)] * missing + rest)
    if key is None:
        return _inner(expand_dims(x, 0), rest)
    if isinstance(key, slice):
        return _inner(_slice_of_rows(x, key), rest)
    if (
        isinstance(x.shape[0].value, int)
        and isinstance(key, int)
        and not -x.shape[0].value <= key < x.shape[0].value
    ):
        raise misuse(ValueError, f"row {key} is out of range: there are {x.shape[0].value} rows")
    starts, limits = x.row_splits[:-1], x.row_splits[1:]
    row = x.values[starts[key] : limits[key]]
    return _item(row, rest) if isinstance(row, RaggedTensor) else row[tuple(rest)]


def _slice_of_rows(x: RaggedTensor, key: slice) -> RaggedTensor:
    if key == slice(None):
        return x
    starts, limits = x.row_starts()[key], x.row_limits()[key]
    return rows_between(x, starts, limits)


def _inner(x: RaggedTensor, keys: list[Any]) -> Any:
    """Return what keys pick of each row."""
    if not keys:
        return x
    key, *rest = keys
    if key is Ellipsis:
        missing = (x.shape.ndims or len(rest) + 1) - 1 - len(rest)
        return _inner(x, [slice(None)] * missing + rest)
    if key is None:
        return _inner_rest(expand_dims(x, 1), rest)
    if not isinstance(key, slice):
        text = "a number cannot pick of rows that differ in length"
        raise misuse(ValueError, text, "x[:, 2:3] picks the same place of those rows that have it")
    if key != slice(None):
        step = 1 if key.step is None else key.step
        dtype, lengths = x.row_splits.dtype, x.row_lengths()
        zero = ops.cast(0, dtype=dtype)

        def place(value: Any, default: Tensor, least: Tensor, most: Tensor) -> Tensor:
            if value is None:
                return default
            number = ops.cast(value, dtype=dtype)
            number = ops.select(
                ops.broadcast_to(number < 0, shape=ops.shape_of(lengths)),
                number + lengths,
                number + zero * lengths,
            )
            return ops.minimum(ops.maximum(number, least), most)

        if step > 0:
            start, limit = (
                place(key.start, zero * lengths, zero, lengths),
                place(key.stop, lengths, zero, lengths),
            )
        else:
            low, high = ops.cast(-1, dtype=dtype), lengths - ops.cast(1, dtype=dtype)
            start = place(key.start, high, low, high)
            limit = place(key.stop, low + zero * lengths, low, high)
        x = rows_between(x, start + x.row_starts(), limit + x.row_starts(), step)
    return _inner_rest(x, rest)


def _inner_rest(x: RaggedTensor, rest: list[Any]) -> Any:
    if not rest:
        return x
    if isinstance(x.values, RaggedTensor):
        return x.with_values(_inner(x.values, rest))
    return x.with_values(x.values[(slice(None), *rest)])


RaggedTensor.functions["getitem"] = getitem
