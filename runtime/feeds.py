"""Checks and converts what is fed to a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import FeedError, layout
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.tensor import Tensor


def feed_tensors(graph: Graph, feed_dict: Mapping[Any, Any] | None) -> dict[Tensor, Any]:
    """The fed tensors with their values as given. Keys may be tensors, variables, or names."""
    out: dict[Tensor, Any] = {}
    if feed_dict is None:
        return out
    if not isinstance(feed_dict, Mapping):
        raise FeedError(
            layout(
                f"feed_dict is a {type(feed_dict).__name__}",
                user_frame(),
                hint="it must be a dict of tensors and values: feed_dict={x: value}",
            )
        )
    for key, value in feed_dict.items():
        if isinstance(key, tuple):  # several tensors that are fed together
            for part, each in zip(key, value, strict=True):
                out[_tensor(graph, part)] = each
        else:
            out[_tensor(graph, key)] = value
    return out


def in_order(fed: dict[Tensor, Any]) -> dict[Tensor, Any]:
    """The same feeds in the order of the graph, so that a dict in another order is not another program."""
    return dict(sorted(fed.items(), key=lambda item: (item[0].op.id, item[0].value_index)))


def _tensor(graph: Graph, key: Any) -> Tensor:
    try:
        return graph.as_graph_element(key, allow_operation=False)
    except (KeyError, TypeError, ValueError) as error:
        text = error.args[0] if error.args else str(error)
        raise FeedError(layout(f"cannot feed {key!r}: {text}", user_frame())) from None


def convert(tensor: Tensor, value: Any) -> np.ndarray:
    """`value` as an array of the tensor's dtype that fits
    its static shape; the same array where it does already.
    """
    dtype = tensor.dtype
    if isinstance(value, Tensor) or hasattr(value, "to_tensor"):
        raise _refuse(tensor, value, "is a tensor", "feed a value, such as what run() returned")
    try:
        array = np.asarray(value)
    except ValueError:
        raise _refuse(tensor, value, "is not an array: its rows differ in length") from None
    if dtype.kind == "string":
        raise _refuse(tensor, value, "is of strings: compiled graphs hold numbers and truth values")
    if array.dtype == object:
        raise _refuse(tensor, value, "is not an array of numbers")
    if array.dtype != dtype.numpy or tensor.dtype.name == "bfloat16":
        array = _cast(tensor, array)
    shape = tensor.type.shape
    if shape is not None and (
        len(shape) != array.ndim
        or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True))
    ):
        hint = None
        if len(shape) == array.ndim + 1:
            hint = "one axis is missing: for a batch of one, feed value[None]"
        elif sorted(n for n in shape if n) == sorted(array.shape) and len(shape) == 2:
            hint = "the axes are exchanged: feed value.T"
        raise _refuse(tensor, value, f"has shape {list(array.shape)}", hint)
    return (
        array
        if array.flags.c_contiguous and array.flags.aligned
        else np.ascontiguousarray(array).reshape(array.shape)
    )


def _cast(tensor: Tensor, array: np.ndarray) -> np.ndarray:
    dtype, kind = tensor.dtype, array.dtype.kind
    if kind in "fc" and dtype.is_integer:
        whole = kind == "f" and bool(np.all(array == np.floor(array)))
        if not whole:
            raise _refuse(
                tensor, array, f"is {array.dtype}",
                f"convert it first: value.astype(np.{dtype.name}) drops the fractions",
            )  # fmt: skip
    elif (kind == "c" and not dtype.is_complex) or kind in "USMm" or (kind != "b" and dtype.is_bool):
        raise _refuse(tensor, array, f"is {array.dtype}", "convert it first")
    if (
        dtype.is_integer
        and kind in "iuf"
        and array.size
        and (array.min() < dtype.min or array.max() > dtype.max)
    ):
        raise _refuse(tensor, array, f"has values outside of what {dtype} can hold")
    with np.errstate(over="ignore"):  # too large for the tensor's dtype: infinity, as in the graph
        return dtype.round(array)


def _refuse(tensor: Tensor, value: Any, why: str, hint: str | None = None) -> FeedError:
    size = getattr(value, "size", None) or (len(value) if isinstance(value, list | tuple) else 1)
    shown = f": {value!r}" if size <= 4 else ""
    return FeedError(
        layout(
            f"the value fed to {tensor.name} ({tensor.type}) {why}{shown if len(shown) <= 60 else ''}",
            user_frame(),
            [(tensor.name, tensor.op.where)],
            hint,
        ),
        tensor.op,
    )
