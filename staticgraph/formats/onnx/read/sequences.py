"""Sequences of tensors, whose lengths are known while the graph is built, and optional values."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import NOTHING, Node, Value, operator
from staticgraph.formats.onnx.values import constant, divided


@operator("SequenceEmpty")
def _empty(node: Node) -> Value:
    return []


@operator("SequenceConstruct")
def _construct(node: Node, *values: Tensor) -> Value:
    return list(values)


def _place(node: Node, position: Tensor, length: int, more: int = 0) -> int:
    at = node.ints(position, "position")[0]
    if not -length <= at < length + more:
        raise OnnxError(f"a sequence of {length} values has no position {at}")
    return at + length if at < 0 else at


@operator("SequenceAt")
def _at(node: Node, values: list[Tensor], position: Tensor) -> Tensor:
    return values[_place(node, position, len(values))]


@operator("SequenceInsert")
def _insert(node: Node, values: list[Tensor], value: Tensor, position: Tensor | None = None) -> Value:
    at = len(values) if position is None else _place(node, position, len(values), 1)
    return [*values[:at], value, *values[at:]]


@operator("SequenceErase")
def _erase(node: Node, values: list[Tensor], position: Tensor | None = None) -> Value:
    at = len(values) - 1 if position is None else _place(node, position, len(values))
    return [*values[:at], *values[at + 1 :]]


@operator("SequenceLength")
def _length(node: Node, values: list[Tensor]) -> Tensor:
    return constant(len(values), int64)


@operator("ConcatFromSequence")
def _concat(node: Node, values: list[Tensor]) -> Tensor:
    axis = node.required("axis")
    if node.get("new_axis"):
        return ops.stack(values, axis=node.axis(axis, values[0], 1))
    return ops.concat(values, axis=node.axis(axis, values[0]))


@operator("SplitToSequence")
def _split(node: Node, x: Tensor, split: Tensor | None = None) -> Value:
    axis = node.axis(node.get("axis", 0), x)
    total = node.sizes(x)[axis]
    if split is None:
        parts = divided(x, total, axis)
        return parts if node.get("keepdims", 1) else [ops.squeeze(part, axis=(axis,)) for part in parts]
    counts = node.ints(split, "split")
    if node.rank(split) == 0:
        size = counts[0]
        counts = tuple(min(size, total - size * i) for i in node.times(-(-total // size)))
    made = ops.split_v(x, size_splits=counts, axis=axis, num_split=len(counts))
    return [made] if isinstance(made, Tensor) else list(made)


@operator("SequenceMap")
def _map(node: Node, *values: Any) -> tuple[Value, ...]:
    """A graph applied to the members of sequences; tensors go in as they are each time."""
    count = len(values[0])
    rows = [
        node.scope.subgraph(node.required("body"), [v[i] if isinstance(v, list) else v for v in values])
        for i in range(count)
    ]
    return tuple(list(column) for column in zip(*rows, strict=True))


@operator("Optional")
def _optional(node: Node, value: Value = NOTHING) -> Value:
    return value


@operator("OptionalHasElement")
def _has_element(node: Node, value: Value = NOTHING) -> Tensor:
    return constant(np.bool_(value is not NOTHING and value is not None), bool_)


@operator("OptionalGetElement")
def _get_element(node: Node, value: Value = NOTHING) -> Value:
    if value is NOTHING:
        raise OnnxError("the optional value has no element")
    return value
