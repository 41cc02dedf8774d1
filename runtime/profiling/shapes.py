"""Feeds of which only the shape is known: enough for a plan, unless shapes depend on what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.capture.segments import reaches
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import FeedError, misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.shapes import as_shape, compatible
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.runtime.feeds import convert, feed_tensors
from staticgraph.runtime.fetches import Fetches


class ShapeOnly(np.ndarray):
    """An array that is nothing but its shape and dtype: its values take no memory, and nobody may ask."""

    tensor: Tensor

    def tobytes(self, order: Any = None) -> bytes:
        name = self.tensor.op.name
        text = f"shapes depend on the value of {name}, of which only the shape is known here"
        raise misuse(FeedError, text, f"feed it: plan(..., feed_dict={{{name}: value}})")


def planned_feeds(
    graph: Graph, fetches: Any, feed_dict: Mapping[Any, Any] | None, shapes: Mapping[Any, Any] | None
) -> dict[Tensor, np.ndarray]:
    """An array for each tensor that a run is fed: those of `feed_dict`, those of which `shapes` tells the
    shape, and the placeholders that `fetches` need and whose shapes the graph tells.
    """
    found = {t: convert(t, value) for t, value in feed_tensors(graph, feed_dict).items()}
    for tensor, shape in feed_tensors(graph, shapes).items():
        found[tensor] = _of_shape(tensor, shape)
    wanted = Fetches(graph, fetches)
    operations = [*(t.op for t in wanted.tensors), *wanted.targets]
    open_ones = [
        t for op in graph.get_operations() if op.definition.name == "placeholder" for t in op.outputs
    ]
    used = reaches(operations, [t for t in open_ones if t not in found], {t.op for t in found})
    direct = [t for t in wanted.tensors if t in open_ones and t not in found]
    for tensor in (*used, *direct):
        if tensor.type.is_static and tensor.dtype is not string:
            found[tensor] = _of_shape(tensor, tensor.type.static_shape)
    return found


def _of_shape(tensor: Tensor, shape: Any) -> np.ndarray:
    sizes = as_shape(shape)
    known = [size for size in sizes or () if size is not None]
    fits = sizes is not None and len(known) == len(sizes) and compatible(sizes, tensor.type.shape)
    if not fits or tensor.dtype is string:
        shown = shape if sizes is None else list(sizes)
        text = f"{shown} is no shape of a value for {tensor.op.name}, which is {tensor.type}"
        hint = "an unknown size may be any, the others are as they are"
        raise misuse(FeedError, text, hint, made=[(tensor.op.name, tensor.op.where)])
    array = np.broadcast_to(np.zeros((), tensor.dtype.numpy), known).view(ShapeOnly)
    array.tensor = tensor
    return array
