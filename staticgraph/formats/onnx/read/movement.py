"""Operators that move elements: reshape, transpose, slice, concatenate, pad, gather and the like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import (
    cast,
    constant,
    known_value,
    part,
    permuted,
    product,
    reshape,
    select,
    sizes,
)


@operator("Reshape")
def _reshape(node: Node, x: Tensor, shape: Tensor | None = None) -> Tensor:
    if shape is None:
        wanted: Any = np.array(node.required("shape"), np.int64)
    else:
        wanted = known_value(shape)
        if wanted is None:
            return ops.reshape(x, shape=shape if node.get("allowzero") else _fed_shape(x, shape))
    if node.get("allowzero") or 0 not in wanted:
        return ops.reshape(x, shape=tuple(int(n) for n in wanted))
    have = sizes(x)
    if len(wanted) > len(have) and any(n == 0 for n in wanted[len(have) :]):
        raise OnnxError(f"the shape {wanted.tolist()} takes sizes over that its input has not")
    return reshape(x, [have[axis] if n == 0 else int(n) for axis, n in enumerate(wanted)])


def _fed_shape(x: Tensor, shape: Tensor) -> Tensor:
    """A shape that depends on what is fed, with the sizes of `x` in place of zeros."""
    own = ops.concat([ops.shape_of(x, out_type=int64), ops.zeros_like(shape)], axis=0)
    own = ops.slice(own, begin=(0,), size=ops.shape_of(shape, out_type=int64))
    return select(ops.equal(shape, constant(0, int64)), own, shape)


@operator("Flatten")
def _flatten(node: Node, x: Tensor) -> Tensor:
    shape = sizes(x)
    axis = node.get("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    before, after = product(shape[:axis]), product(shape[axis:])
    if isinstance(before, Tensor) and not isinstance(after, Tensor) and after:
        before = -1
    elif isinstance(after, Tensor) and not isinstance(before, Tensor) and before:
        after = -1
    return reshape(x, [before, after])


@operator("Identity")
def _identity(node: Node, x: Any) -> Any:
    return ops.identity(x) if isinstance(x, Tensor) else x


@operator("Transpose")
def _transpose(node: Node, x: Tensor) -> Tensor:
    order = node.get("perm") or list(reversed(range(node.rank(x))))
    return permuted(x, order)


@operator("Squeeze")
def _squeeze(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
    given = node.setting("axes", axes)
    return ops.squeeze(x, axis=None if given is None else node.axes(given, x))


@operator("Unsqueeze")
def _unsqueeze(node: Node, x: Tensor, axes: Tensor | None = None) -> Tensor:
    given = node.setting("axes", axes) or ()
    if x.type.shape == () or len(given) == 1:
        for axis in sorted(node.axis(a, x, len(given)) for a in given):
            x = ops.expand_dims(x, axis=axis)
        return x
    places = {node.axis(axis, x, len(given)) for axis in given}
    if len(places) < len(given):
        raise OnnxError(f"the axes {list(given)} are not different")
    rest = iter(sizes(x))
    return reshape(x, [1 if axis in places else next(rest) for axis in range(node.rank(x) + len(given))])


@operator("Concat")
def _concat(node: Node, *values: Tensor) -> Tensor:
    if len(values) == 1:
        return ops.identity(values[0])
    axis = node.get("axis", 1)
    rank = next((len(v.type.shape) for v in values if v.type.shape is not None), None)
    if rank is None:
        axis = node.axis(axis, values[0])
    return ops.concat(list(values), axis=axis + rank if rank is not None and axis < 0 else axis)


@operator("Split")
def _split(node: Node, x: Tensor, split: Tensor | None = None) -> tuple[Tensor, ...]:
    axis = node.axis(node.get("axis", 0), x)
    given = node.setting("split", split)
    if given is None:
        total, count = node.sizes(x)[axis], len(node.outputs)
        if node.get("num_outputs", count) != count:
            raise OnnxError(f"its num_outputs is {node.get('num_outputs')}, and it has {count} outputs")
        each = -(-total // count)
        given = tuple(max(0, min(each, total - each * i)) for i in range(count))
    return _several(ops.split_v(x, size_splits=given, axis=axis, num_split=len(given)))


@operator("Slice")
def _slice(
    node: Node,
    x: Tensor,
    starts: Tensor | None = None,
    ends: Tensor | None = None,
    axes: Tensor | None = None,
    steps: Tensor | None = None,
) -> Tensor:
    rank = node.rank(x)
    if starts is None or ends is None:
        begin: Any = tuple(node.required("starts"))
        end: Any = tuple(node.required("ends"))
    else:
        known = known_value(starts), known_value(ends)
        begin, end = (
            t if v is None else tuple(int(n) for n in v) for t, v in zip((starts, ends), known, strict=True)
        )
    given = node.setting("axes", axes)
    count = node.sizes(begin)[0] if isinstance(begin, Tensor) else len(begin)
    places = node.axes(range(count) if given is None else given, x)
    by = (1,) * len(places) if steps is None else node.ints(steps, "steps")
    if isinstance(begin, Tensor) or isinstance(end, Tensor):
        return _fed_slice(x, begin, end, places, by)
    return _static_slice(x, rank, begin, end, places, by)


def _several(made: Any) -> tuple[Tensor, ...]:
    return made if isinstance(made, tuple) else (made,)


def _static_slice(
    x: Tensor, rank: int, begin: Sequence[int], end: Sequence[int], axes: Sequence[int], steps: Sequence[int]
) -> Tensor:
    """Bounds beyond the ends are the ends; one before the first element, going down, is no end at all."""
    if not len(begin) == len(end) == len(axes) == len(steps):
        raise OnnxError("starts, ends, axes and steps are not equally long")
    first, last, by = [0] * rank, [0] * rank, [1] * rank
    no_begin = no_end = (1 << rank) - 1
    for axis, b, e, step in zip(axes, begin, end, steps, strict=True):
        n = x.type.shape[axis] if x.type.shape is not None else None
        by[axis] = step
        if n is not None:
            b, e, _ = slice(b, e, step).indices(n)
            if (e - b) * step <= 0:
                b = e = 0
        if not (n is None and step < 0 and b >= 2**31 - 1):
            first[axis], no_begin = b, no_begin & ~(1 << axis)
        if not (e == -1 and n is not None) and not (n is None and (e >= 2**31 - 1 or e < -(2**31))):
            last[axis], no_end = e, no_end & ~(1 << axis)
    return ops.strided_slice(
        x, tuple(first), tuple(last), strides=tuple(by), begin_mask=no_begin, end_mask=no_end
    )


def _fed_slice(x: Tensor, begin: Any, end: Any, axes: Sequence[int], steps: Sequence[int]) -> Tensor:
    """Bounds that depend on what is fed, along the axes where they are given."""
    shape = x.type.shape
    assert shape is not None
    bounds = []
    for value in (begin, end):
        given = value if isinstance(value, Tensor) else constant(value, int64)
        given = cast(given, int64)
        rows = [given[axes.index(axis)] if axis in axes else constant(0, int64) for axis in range(len(shape))]
        bounds.append(ops.stack(rows, axis=0) if rows else constant([], int64))
    by = [steps[axes.index(axis)] if axis in axes else 1 for axis in range(len(shape))]
    whole = sum(1 << axis for axis in range(len(shape)) if axis not in axes)
    return ops.strided_slice(x, bounds[0], bounds[1], strides=tuple(by), begin_mask=whole, end_mask=whole)


@operator("Expand")
def _expand(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    wanted = known_value(shape)
    have = x.type.shape
    if wanted is not None and have is not None and None not in have:
        known = tuple(n for n in have if n is not None)
        return ops.broadcast_to(x, shape=np.broadcast_shapes(known, tuple(int(n) for n in wanted)))
    mine = ops.shape_of(x, out_type=int64)
    return ops.broadcast_to(x, shape=ops.broadcast_args(mine, cast(shape, int64)))


@operator("Tile")
def _tile(node: Node, x: Tensor, repeats: Tensor, axis: Tensor | None = None) -> Tensor:
    if node.version >= 6:
        return ops.tile(x, multiples=repeats)
    assert axis is not None
    (times,), (along,) = node.ints(repeats, "tiles"), node.ints(axis, "axis")
    return ops.tile(x, multiples=tuple(times if i == along else 1 for i in range(node.rank(x))))


@operator("Pad")
def _pad(
    node: Node, x: Tensor, pads: Tensor | None = None, value: Tensor | None = None, axes: Tensor | None = None
) -> Tensor:
    given = node.setting("pads" if node.version > 1 else "paddings", pads) or ()
    if value is None:
        value = constant(node.get("value", 0.0) if node.version < 11 else 0, x)
    places = node.axes(node.ints(axes, "axes") if axes is not None else None, x)
    if len(given) != 2 * len(places):
        raise OnnxError(f"it has {len(given)} pads, {2 * len(places)} are needed")
    pairs = [(0, 0)] * node.rank(x)
    for axis, before, after in zip(places, given[: len(places)], given[len(places) :], strict=True):
        pairs[axis] = (before, after)
    return padded(x, pairs, node.get("mode", "constant"), reshape(value, []))


def padded(x: Tensor, pairs: Sequence[tuple[int, int]], mode: str, value: Tensor | None = None) -> Tensor:
    """`x` with elements before and after those of each axis; a negative number takes elements away."""
    x = cropped(x, [(max(0, -before), max(0, -after)) for before, after in pairs])
    outside = tuple((max(0, before), max(0, after)) for before, after in pairs)
    if not any(map(any, outside)):
        return x
    if mode == "constant":
        return ops.pad(x, paddings=outside) if value is None else ops.pad_v2(x, value, paddings=outside)
    shape = x.type.shape
    assert shape is not None
    for axis, (before, after) in enumerate(outside):
        if before or after:
            length = shape[axis]
            if length is None:
                raise UnknownValueError(f"the size of axis {axis}, which is padded, must be known", x)
            if mode not in ("edge", "reflect", "wrap"):
                raise OnnxError(f"mode {mode!r} does not exist")
            places = np.pad(np.arange(length), (before, after), mode)  # type: ignore[call-overload]
            x = ops.gather(x, constant(places, int64), axis=axis)
    return x


def cropped(x: Tensor, pairs: Sequence[tuple[int, int]]) -> Tensor:
    """`x` without some elements at the beginning and the end of each axis."""
    if not any(map(any, pairs)):
        return x
    no_end = sum(1 << axis for axis, (_, after) in enumerate(pairs) if not after)
    begin, end = tuple(before for before, _ in pairs), tuple(-after for _, after in pairs)
    return ops.strided_slice(x, begin=begin, end=end, strides=(1,) * len(pairs), end_mask=no_end)


@operator("CenterCropPad")
def _center_crop_pad(node: Node, x: Tensor, shape: Tensor) -> Tensor:
    wanted = node.ints(shape, "shape")
    have = node.sizes(x)
    pairs = [(0, 0)] * len(have)
    for axis, n in zip(node.axes(node.get("axes"), x), wanted, strict=True):
        missing = n - have[axis]
        before = missing // 2 if missing > 0 else -(-missing // 2)
        pairs[axis] = (before, missing - before)
    return padded(x, pairs, "constant")


@operator("DepthToSpace", "SpaceToDepth")
def _blocks(node: Node, x: Tensor) -> Tensor:
    size = node.required("blocksize")
    n, channels, height, width = sizes(x)
    columns_rows_depth = node.get("mode", "DCR") == "CRD"
    if node.type == "SpaceToDepth":
        apart = reshape(x, [n, channels, part(height, size), size, part(width, size), size])
        order = (0, 1, 3, 5, 2, 4) if columns_rows_depth else (0, 3, 5, 1, 2, 4)
        shape = [n, channels * size * size, part(height, size), part(width, size)]
        return reshape(permuted(apart, order), shape)
    depth = part(channels, size * size)
    order = (0, 1, 4, 2, 5, 3) if columns_rows_depth else (0, 3, 4, 1, 5, 2)
    split = (
        [n, depth, size, size, height, width] if columns_rows_depth else [n, size, size, depth, height, width]
    )
    return reshape(permuted(reshape(x, split), order), [n, depth, height * size, width * size])


@operator("ReverseSequence")
def _reverse_sequence(node: Node, x: Tensor, lengths: Tensor) -> Tensor:
    return ops.reverse_sequence(
        x, lengths, seq_dim=node.get("time_axis", 0), batch_dim=node.get("batch_axis", 1)
    )


@operator("Trilu")
def _trilu(node: Node, x: Tensor, k: Tensor | None = None) -> Tensor:
    shift = 0 if k is None else node.ints(k, "k")[0]
    *_, rows, columns = node.sizes(x)
    above = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    keep = above >= shift if node.get("upper", 1) else above <= shift
    return select(constant(keep, bool_), x, ops.zeros_like(x))
