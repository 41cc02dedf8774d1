"""Nodes whose op has another form here: values, old types, what computes shapes, what is shown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.arrays.indexing import dynamic_stitch
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, int32, int64, string
from staticgraph.compiler.graph.function import Literal
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.ops.control.effects import Countdown
from staticgraph.formats.tf.graph_def.attributes import shape_of_proto
from staticgraph.formats.tf.graph_def.nodes import GraphDefError, Node, constant, reads
from staticgraph.formats.tf.messages.tensors import listed_values, make_ndarray
from staticgraph.formats.tf.messages.types import dtype_of

_LARGE = 1 << 16  # elements: a constant that repeats one value is not made in memory beyond that


@reads("Const")
def _const(node: Node) -> Any:
    proto = node.attrs["value"]
    shape = shape_of_proto(proto.tensor_shape)
    if shape is None or None in shape:
        raise GraphDefError("its value has no fixed shape")
    size = math.prod(n or 0 for n in shape)
    if not proto.tensor_content and size > _LARGE and size > 16 * proto.ByteSize():
        return _repeated(listed_values(proto), dtype_of(proto.dtype), [n or 0 for n in shape], node.out)
    return ops.constant(value=Literal.of(make_ndarray(proto), dtype_of(proto.dtype)), name=node.out)


def _repeated(values: np.ndarray, dtype: DType, shape: list[int], name: str) -> Tensor:
    """A constant of few values, the last of which stands in all other places, too."""
    size = math.prod(shape)
    wide = int32 if size <= int32.max else int64
    given = values if values.size else np.full(1, b"" if dtype is string else 0, values.dtype)
    first, last = (ops.constant(value=Literal.of(part, dtype)) for part in (given[:-1], given[-1]))
    if given.size == 1:
        return ops.fill(last, dims=constant(shape, wide), name=name)
    rest = ops.fill(last, dims=constant([size - given.size + 1], wide))
    return ops.reshape(ops.concat([first, rest], 0), shape=constant(shape, wide), name=name)


@reads("Div")
def _div(node: Node) -> Any:
    x, y = node.tensors
    return (ops.truncatediv if x.dtype.is_integer else ops.realdiv)(x, y, name=node.out)


@reads("Concat")
def _concat(node: Node) -> Any:
    axis, *values = node.tensors
    return ops.concat(values, axis, name=node.out)


@reads("Gather")
def _gather(node: Node) -> Any:
    params, indices = node.tensors
    return ops.gather(params, indices, axis=0, name=node.out)


@reads("BiasAddV1")
def _bias_add(node: Node) -> Any:
    value, bias = node.tensors
    return ops.bias_add(value, bias, name=node.out)


@reads("MaxPoolV2")
def _max_pool(node: Node) -> Any:
    x, ksize, strides = node.tensors
    sizes = static_value(ksize), static_value(strides)
    if None in sizes:
        raise GraphDefError("its ksize and strides must be constants")
    told = {key: node.attrs[key] for key in ("padding", "data_format")}
    return ops.max_pool(x, *sizes, **told, name=node.out)


@reads("ShapeN")
def _shapes(node: Node) -> Any:
    return tuple(ops.shape_of(x, out_type=node.attrs["out_type"]) for x in node.tensors)


@reads("ConcatOffset")
def _offsets(node: Node) -> Any:
    """Return the offset of each part of a concatenation."""
    axis, *shapes = node.tensors
    at = static_value(axis)
    rank = shapes[0].type.shape[0] if shapes[0].type.shape else None
    if at is None or rank is None:
        raise GraphDefError("the axis and the number of axes must be known")
    here = constant(np.arange(rank) == at % rank, int32)
    starts = [ops.zeros_like(shapes[0])]
    for shape in shapes[:-1]:
        starts.append(starts[-1] + shape * here)
    return tuple(starts)


@reads("DynamicStitch", "ParallelDynamicStitch")
def _stitch(node: Node) -> Any:
    """Rows put where indices say: mostly they are known, since TensorFlow computes shapes with it."""
    (_, indices), (_, data) = node.arguments()
    known = [static_value(each) for each in indices]
    if any(each is None for each in known):
        return ops.identity(dynamic_stitch(indices, data), name=node.out)
    places = np.concatenate([np.reshape(np.asarray(each, np.int64), -1) for each in known])
    if not places.size or set(places.tolist()) != set(range(int(places.max()) + 1)):
        raise GraphDefError("its indices must be all from 0 on")
    source = np.zeros(int(places.max()) + 1, np.int64)
    source[places] = np.arange(places.size)
    rows = [
        ops.reshape(x, [-1, *x.type.shape[np.ndim(each) :]])
        for x, each in zip(data, known, strict=True)
        if x.type.shape is not None
    ]
    whole = ops.concat(rows, axis=0) if len(rows) > 1 else rows[0]
    return ops.gather(whole, constant(source, int32), axis=0, name=node.out)


@reads("Print")
def _print(node: Node) -> Any:
    x, *data = node.tensors
    first, summarize = node.attrs["first_n"], node.attrs["summarize"]
    return ops.print_values(
        x,
        data,
        text=node.attrs["message"],
        first=Countdown(first) if first >= 0 else None,
        summarize=summarize,
        name=node.out,
    )


@reads("PrintV2")
def _print_line(node: Node) -> Any:
    stream = node.attrs["output_stream"].removeprefix("file://")
    if stream not in ("stdout", "stderr"):
        raise GraphDefError(
            f"it writes to {stream!r}: a graph from a file may only write to stdout and stderr"
        )
    return ops.print_line([*node.tensors], shown=(None,), stream=stream, end=node.attrs["end"], name=node.out)


@reads("Assert")
def _assert(node: Node) -> Any:
    condition, *data = node.tensors
    shown, summarize = (None,) * len(data), node.attrs["summarize"]
    return ops.assert_true(condition, data, shown=shown, summarize=summarize, name=node.out)
