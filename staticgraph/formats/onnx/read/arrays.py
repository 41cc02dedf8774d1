"""Operators that make values, and that tell what is known of them: constants, ranges, shapes, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, float32, int64, string
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import (
    cast,
    constant,
    constant_of,
    known_value,
    permuted,
    reshape,
    select,
    sizes,
    unstacked,
)

_CONSTANTS: dict[str, Any] = {
    "value_float": float32,
    "value_floats": float32,
    "value_int": int64,
    "value_ints": int64,
    "value_string": string,
    "value_strings": string,
}


@operator("Constant")
def _constant(node: Node) -> Tensor:
    for name, dtype in _CONSTANTS.items():
        value = node.get(name)
        if value is not None:
            if dtype is string:
                value = np.array(
                    [each.encode("utf-8", "surrogateescape") for each in np.atleast_1d(value)], object
                )
                value = value if name.endswith("s") else value.reshape(())
            return constant(value, dtype)
    if node.get("sparse_value") is not None:
        return node.get("sparse_value")
    return constant_of(node.required("value"))


@operator("ConstantOfShape")
def _constant_of_shape(node: Node, shape: Tensor) -> Tensor:
    value: Literal | None = node.get("value")
    one = constant(0, float32) if value is None else constant(value.array.reshape(()), value.dtype)
    return ops.fill(one, dims=shape)


@operator("EyeLike")
def _eye_like(node: Node, x: Tensor) -> Tensor:
    rows, columns = node.sizes(x)
    dtype = node.element_type(node.get("dtype")) if node.get("dtype") is not None else x.dtype
    return constant(np.eye(rows, columns, node.get("k", 0)), dtype)


@operator("Range")
def _range(node: Node, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    start, limit, delta = (reshape(each, []) for each in (start, limit, delta))
    if start.dtype.size >= 4:
        known = [(each, known_value(each)) for each in (start, limit, delta)]
        given = [each if value is None else value[()] for each, value in known]
        return ops.range(start=given[0], limit=given[1], delta=given[2], dtype=start.dtype)
    wide = [cast(each, float32) for each in (start, limit, delta)]
    return cast(ops.range(start=wide[0], limit=wide[1], delta=wide[2], dtype=float32), start.dtype)


@operator("Shape")
def _shape(node: Node, x: Tensor) -> Tensor:
    shape = ops.shape_of(x, out_type=int64)
    if node.get("start") is None and node.get("end") is None:
        return shape
    rank = node.rank(x)
    first, last, _ = slice(node.get("start", 0), node.get("end")).indices(rank)
    return ops.slice(shape, begin=(first,), size=(max(0, last - first),))


@operator("Size")
def _size(node: Node, x: Tensor) -> Tensor:
    return ops.size_of(x, out_type=int64)


@operator("OneHot")
def _one_hot(node: Node, indices: Tensor, depth: Tensor, values: Tensor) -> Tensor:
    (count,) = node.ints(depth, "depth")
    places = cast(indices, int64)
    places = select(places < constant(0, int64), places + constant(count, int64), places)
    off, on = unstacked(values, 2, 0)
    axis = node.axis(node.get("axis", -1), indices, 1)
    return ops.one_hot(places, on, off, depth=count, axis=-1 if axis == node.rank(indices) else axis)


@operator("NonZero")
def _non_zero(node: Node, x: Tensor) -> Tensor:
    return ops.transpose(
        ops.where(ops.not_equal(x, constant(0, x)) if x.dtype is not bool_ else x), perm=(1, 0)
    )


@operator("Compress")
def _compress(node: Node, x: Tensor, condition: Tensor) -> Tensor:
    """The rows where a condition holds; it may be shorter than there are rows."""
    axis = node.get("axis")
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    return ops.gather(x, reshape(ops.where(condition), [-1]), axis=node.axis(axis, x))


@operator("Unique")
def _unique(node: Node, x: Tensor) -> tuple[Tensor, ...]:
    """The different elements, or the different parts along an axis; where each is first, and is; how many."""
    axis = node.get("axis")
    if axis is None:
        rows = reshape(x, [-1, 1])
    else:
        axis = node.axis(axis, x)
        order = [axis, *(a for a in range(node.rank(x)) if a != axis)]
        rows = permuted(x, order)
        shape = sizes(rows)
        rows = reshape(rows, [shape[0], -1])
    count = node.sizes(rows)[0]
    same = ops.reduce_all(ops.equal(ops.expand_dims(rows, axis=1), ops.expand_dims(rows, axis=0)), axis=2)
    first_like = ops.argmax(cast(same, float32), axis=1)  # the number of the first row that is equal to each
    order_of = _row_order(rows, count) if node.get("sorted", 1) else constant(np.arange(count), int64)
    leads = ops.gather(ops.equal(first_like, constant(np.arange(count), int64)), order_of, axis=0)
    first = ops.gather(order_of, reshape(ops.where(leads), [-1]), axis=0)
    among = ops.equal(ops.expand_dims(first_like, axis=1), ops.expand_dims(first, axis=0))
    inverse = ops.argmax(cast(among, float32), axis=1)
    counts = ops.reduce_sum(cast(among, int64), axis=(0,))
    if axis is None:
        return ops.gather(reshape(x, [-1]), first, axis=0), first, inverse, counts
    return ops.gather(x, first, axis=axis), first, inverse, counts


def _row_order(rows: Tensor, count: int) -> Tensor:
    """The numbers of the rows of a matrix, sorted by the elements of the rows, the first ones first.

    A row stands after as many as are less than it, and after those before it that are equal.
    """
    left, right = ops.expand_dims(rows, axis=1), ops.expand_dims(rows, axis=0)
    differ = ops.not_equal(left, right)
    where_first = ops.argmax(cast(differ, float32), axis=2)  # the first element in which two rows differ
    picked = ops.gather(cast(right < left, float32), where_first, axis=2, batch_dims=2)
    earlier = constant(np.tri(count, k=-1, dtype=np.bool_), bool_)
    equal = ops.logical_not(ops.reduce_any(differ, axis=2))
    after = ops.logical_or(picked > constant(0, float32), ops.logical_and(equal, earlier))
    place = ops.reduce_sum(cast(after, int64), axis=(1,))
    return cast(ops.invert_permutation(cast(place, int64)), int64)
