"""Operators that take and put elements by their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, constant, reshape, select, sizes, unstacked


def counted(indices: Tensor, size: Any) -> Tensor:
    """Places from the front as int64: negative ones count from the end."""
    places = cast(indices, int64)
    end = size if isinstance(size, Tensor) else constant(size, int64)
    return select(places < constant(0, int64), places + end, places)


@operator("Gather")
def _gather(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    axis = node.axis(node.get("axis", 0), x)
    return ops.gather(x, counted(indices, sizes(x)[axis]), axis=axis)


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def _features(node: Node, x: Tensor, places: Tensor) -> Tensor:
    return ops.gather(x, reshape(places, [-1]), axis=node.rank(x) - 1)


def element_places(node: Node, x: Tensor, indices: Tensor, axis: int) -> Tensor:
    """For each of the `indices` along an axis the place in `x`: a vector of int64 with a number per axis."""
    shape = node.sizes(indices)
    at = counted(indices, sizes(x)[axis])
    grid = [constant(each, int64) for each in np.indices(shape, sparse=True)]
    rows = [at if i == axis else ops.broadcast_to(each, shape=shape) for i, each in enumerate(grid)]
    return ops.stack(rows, axis=len(shape))


@operator("GatherElements")
def _gather_elements(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    axis = node.axis(node.get("axis", 0), x)
    return ops.gather_nd(x, element_places(node, x, indices, axis))


@operator("GatherND")
def _gather_nd(node: Node, x: Tensor, indices: Tensor) -> Tensor:
    batch = node.get("batch_dims", 0)
    depth = node.size(indices, -1)
    inner = sizes(x)[batch : batch + depth]
    parts = [counted(part, n) for part, n in zip(unstacked(indices, depth, -1), inner, strict=True)]
    if batch:
        shape = node.sizes(indices)[:-1]
        grid = [constant(each, int64) for each in np.indices(shape, sparse=True)[:batch]]
        parts = [ops.broadcast_to(each, shape=shape) for each in grid] + parts
    return ops.gather_nd(x, ops.stack(parts, axis=len(node.shape(indices)) - 1))


@operator("ScatterElements", "Scatter")
def _scatter_elements(node: Node, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    axis = node.axis(node.get("axis", 0), x)
    return scattered(node, x, element_places(node, x, indices, axis), updates)


@operator("ScatterND")
def _scatter_nd(node: Node, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    depth = node.size(indices, -1)
    have = sizes(x)
    parts = [counted(part, n) for part, n in zip(unstacked(indices, depth, -1), have, strict=False)]
    return scattered(node, x, ops.stack(parts, axis=len(node.shape(indices)) - 1), updates)


def scattered(node: Node, x: Tensor, places: Tensor, updates: Tensor) -> Tensor:
    """`x` with updates at some places, put in or taken together with what is there."""
    how = node.get("reduction", "none")
    match how:
        case "none":
            return ops.tensor_scatter_update(x, places, updates)
        case "add":
            return ops.tensor_scatter_add(x, places, updates)
        case "mul" | "max" | "min":
            return _combined(node, x, places, updates, how)
    raise OnnxError(f"reduction {how!r} does not exist")


def _combined(node: Node, x: Tensor, places: Tensor, updates: Tensor, how: str) -> Tensor:
    """Updates of one place are taken together first: they form a segment with the number of the place."""
    shape = node.sizes(x)
    depth = node.sizes(places)[-1]
    steps = np.cumprod([1, *reversed(shape[1:depth])])[::-1]
    numbers = reshape(ops.reduce_sum(places * constant(steps, int64), axis=(-1,)), [-1])
    count = int(np.prod(shape[:depth], dtype=np.int64))
    rows, rest = reshape(updates, [-1, *shape[depth:]]), [count, *shape[depth:]]
    segments = {
        "mul": ops.unsorted_segment_prod,
        "max": ops.unsorted_segment_max,
        "min": ops.unsorted_segment_min,
    }[how]
    together = {"mul": ops.multiply, "max": ops.maximum, "min": ops.minimum}[how]
    made = together(reshape(x, rest), segments(rows, numbers, num_segments=count))
    touched = ops.unsorted_segment_sum(ops.ones_like(numbers), numbers, num_segments=count)
    touched = reshape(touched > constant(0, int64), [count] + [1] * (len(rest) - 1))
    return reshape(select(cast(touched, bool_), made, reshape(x, rest)), shape)


@operator("TensorScatter")
def _tensor_scatter(node: Node, past: Tensor, update: Tensor, write: Tensor | None = None) -> Tensor:
    """A cache with new rows: those of each sequence of the batch begin where `write` says."""
    axis = node.axis(node.get("axis", -2), past)
    have, new = node.sizes(past), node.sizes(update)
    places = np.indices(new, sparse=True)
    along = constant(places[axis], int64)
    if write is not None:
        along = along + reshape(cast(write, int64), [-1] + [1] * (len(new) - 1))
    if node.get("mode", "linear") == "circular":
        along = ops.floormod(along, constant(have[axis], int64))
    rows = [along if i == axis else constant(each, int64) for i, each in enumerate(places)]
    grid = ops.stack([ops.broadcast_to(row, shape=new) for row in rows], axis=len(new))
    return ops.tensor_scatter_update(past, grid, update)
