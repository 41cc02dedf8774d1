"""Ops that give a tensor another shape, in ONNX."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from staticgraph.compiler.graph.dtypes import DType, int64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, normalize_axis
from staticgraph.formats.onnx.write.rules import Use, writes
from staticgraph.formats.onnx.write.value import Held, NoForm, inverse, permuted


def _in_file(use: Use, tensor: Held) -> Held | None:
    """A constant in its new shape, where its value is known: there is no node."""
    if tensor.data is None or not use.type.is_static:
        return None
    return replace(tensor, type=use.type, data=tensor.data.reshape(use.type.static_shape), name="")


@writes("reshape")
def _reshape(use: Use, tensor: Held, shape: Any) -> Any:
    """One size that is not known is what is left."""
    if (constant := _in_file(use, tensor)) is not None:
        return constant
    known = use.type.shape
    entries: list[Any]
    if known is not None and sum(n is None for n in known) < 2:
        entries = [-1 if n is None else n for n in known]
        if -1 in entries and 0 in entries:
            entries = use.writer.entries(shape)
    else:
        entries = use.writer.entries(shape) if known is not None or not isinstance(shape, Held) else [shape]
        if entries == [shape]:
            return use("Reshape", tensor, use.writer.vector(shape))
    given = [n for n in entries if not isinstance(n, Held)]
    if 0 in given and -1 in given:  # which ONNX refuses
        raise NoForm("beside a size of 0, what is left must be known")
    allowzero = 1 if 0 in given else None
    return use("Reshape", tensor, use.writer.vector(entries), allowzero=allowzero)


@writes("transpose", keeps_order=True)
def _transpose(use: Use, a: Held, perm: Any) -> Any:
    """Transpose a tensor. The permutation is combined with an earlier one, so that two may cancel."""
    axes = (
        tuple(range(a.rank))[::-1]
        if perm is None
        else tuple(n % max(a.rank, 1) for n in use.ints(perm, "perm"))
    )
    if a.order is not None:
        order = tuple(axes.index(axis) for axis in a.order)
        return a.kept.in_order(order)
    return use.writer.moved(a, axes) if a.rank > 1 else a


@writes("broadcast_to", "fill")
def _expand(use: Use, input: Held, shape: Any = None, dims: Any = None) -> Any:
    return use("Expand", input, _sizes(use, shape if dims is None else dims))


def _sizes(use: Use, shape: Any) -> Held:
    """The shape of the result as a vector."""
    return use.writer.vector(use.type.static_shape if use.type.is_static else shape)


@writes("expand_dims")
def _expand_dims(use: Use, input: Held, axis: Any) -> Any:
    (place,) = use.ints(axis, "axis")
    if (constant := _in_file(use, input)) is not None:
        return constant
    return use("Unsqueeze", input, use.constant([normalize_axis(place, input.rank + 1)]))


@writes("squeeze")
def _squeeze(use: Use, input: Held, axis: Any) -> Any:
    if axis is None or axis == ():
        if input.type.shape is None or None in input.type.shape:
            return use("Squeeze", input)
        axis = tuple(i for i, n in enumerate(input.type.shape) if n == 1)
    axes = sorted(normalize_axis(a, input.rank) for a in use.ints(axis, "axis"))
    return use("Squeeze", input, use.constant(axes)) if axes else input


@writes("tile")
def _tile(use: Use, input: Held, multiples: Any) -> Any:
    return use("Tile", input, use.writer.vector(multiples)) if input.type.rank else input


@writes("shape_of", keeps_order=True)
def _shape_of(use: Use, input: Held, out_type: DType) -> Any:
    sizes = use("Shape", input.kept, type=TensorType(int64, use.type.shape))
    if input.order is not None:
        sizes = ops.gather(sizes, use.constant(inverse(input.order)), axis=0)
    return use.writer.cast(sizes, out_type)


@writes("size_of")
def _size_of(use: Use, input: Held, out_type: DType) -> Any:
    return use.writer.cast(use("Size", input, type=TensorType(int64, ())), out_type)


@writes("rank_of")
def _rank_of(use: Use, input: Held) -> Any:
    return ops.reshape(ops.size_of(ops.shape_of(input)), shape=())


@writes("ensure_shape")
def _ensure_shape(use: Use, input: Held, shape: Any) -> Any:
    return input


@writes("range")
def _range(use: Use, start: Any, limit: Any, delta: Any, dtype: DType) -> Any:
    return use("Range", *(use.writer.scalar(n, dtype) for n in (start, limit, delta)))


@writes("broadcast_args")
def _broadcast_args(use: Use, s0: Held, s1: Held) -> Any:
    """The shape of what has both shapes."""
    one = use.constant(True, use.writer.constant(True).dtype)
    both = [ops.broadcast_to(one, shape=s) for s in (s0, s1)]
    return use.writer.cast(
        use("Shape", ops.logical_and(*both), type=TensorType(int64, use.type.shape)), use.dtype
    )


@writes("concat", keeps_order=True)
def _concat(use: Use, *values: Held, axis: Any) -> Any:
    (place,) = use.ints(axis, "axis")
    order = next((v.order for v in values if v.order is not None), None)
    if order is not None:
        values = tuple(use.writer.ordered(v, order) for v in values)
    place = normalize_axis(place, next(v.rank for v in values if v.type.shape is not None))
    at = place if order is None else order.index(place)
    if len(values) == 1:
        return values[0]
    type = (
        use.type
        if order is None or use.type.shape is None
        else TensorType(use.dtype, permuted(use.type.shape, order))
    )
    return use("Concat", *(v.kept for v in values), type=type, axis=at).in_order(order)


@writes("stack")
def _stack(use: Use, *values: Held, axis: int) -> Any:
    place = normalize_axis(axis, values[0].rank + 1)
    rows = [ops.expand_dims(v, axis=place) for v in values]
    return rows[0] if len(rows) == 1 else use("Concat", *rows, axis=place)


@writes("split")
def _split(use: Use, value: Held, axis: Any, num_split: int) -> Any:
    (place,) = use.ints(axis, "axis")
    if num_split == 1:
        return value
    place = normalize_axis(place, value.rank)
    size = None if use.type.shape is None else use.type.shape[place]
    if size is None:
        return use.several("Split", value, types=use.types, axis=place, num_outputs=num_split)
    return use.several("Split", value, use.constant([size] * num_split), types=use.types, axis=place)


@writes("split_v")
def _split_v(use: Use, value: Held, size_splits: Any, axis: Any, num_split: int) -> Any:
    (place,) = use.ints(axis, "axis")
    place = normalize_axis(place, value.rank)
    if num_split == 1:
        return value
    sizes = [t.shape[place] if t.shape is not None else None for t in use.types]
    if None in sizes:
        sizes = use.writer.entries(size_splits)
        if -1 in [n for n in sizes if not isinstance(n, Held)]:
            rest: Any = value.shape[place]
            for n in sizes:
                rest = rest - n if isinstance(n, Held) or n != -1 else rest
            sizes = [rest if not isinstance(n, Held) and n == -1 else n for n in sizes]
    return use.several("Split", value, use.writer.vector(sizes), types=use.types, axis=place)


@writes("unstack")
def _unstack(use: Use, value: Held, num: int, axis: int) -> Any:
    place = normalize_axis(axis, value.rank)
    rows = ops.split(value, axis=place, num_split=num)
    return tuple(ops.squeeze(row, axis=(place,)) for row in (rows if isinstance(rows, tuple) else (rows,)))


@writes("pad", "pad_v2", keeps_order=True)
def _pad(use: Use, tensor: Held, value: Held | None = None, *, paddings: Any) -> Any:
    return _padded(use, tensor, paddings, value, "constant")


@writes("mirror_pad")
def _mirror_pad(use: Use, tensor: Held, paddings: Any, mode: str) -> Any:
    """ONNX has the mirror that leaves the edge out; the other one is written by where elements come from."""
    return (
        _padded(use, tensor, paddings, None, "reflect")
        if mode == "REFLECT"
        else use.by_definition(tensor, paddings=paddings, mode=mode)
    )


def _padded(use: Use, tensor: Held, paddings: Any, value: Held | None, mode: str) -> Any:
    if tensor.rank == 0:
        return tensor
    kept, type = tensor.kept, use.type
    if isinstance(paddings, Held):
        tensor = use.writer.plain(tensor)
        kept = tensor
        pads = ops.reshape(ops.transpose(ops.cast(paddings, dtype=int64)), shape=(-1,))
    else:
        rows: Any = permuted(paddings, tensor.order) if tensor.order is not None else paddings
        pads = use.writer.vector([row[0] for row in rows] + [row[1] for row in rows])
        if tensor.order is not None and type.shape is not None:
            type = TensorType(type.dtype, permuted(type.shape, tensor.order))
    return use("Pad", kept, pads, value, type=type, mode=mode).in_order(tensor.order)
