"""Ops that pick and place elements, in ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, bool_, int64
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, normalize_axis
from staticgraph.formats.onnx.write.rules import Use, without, writes
from staticgraph.formats.onnx.write.value import Held, NoForm

_END = np.iinfo(np.int64).max
_BEGIN = np.iinfo(np.int64).min

without(
    "it is a part of a derivative, and ONNX has none",
    "gather_grad row_add max_pool_grad avg_pool_grad avg_pool3d_grad max_unpool max_pool_first "
    "max_pool_pick conv_filter conv2d_backprop_filter conv3d_backprop_filter "
    "depthwise_conv2d_native_backprop_filter",
)
without(
    "the compiler makes it of other ops, and graphs do not have it",
    "absent_numbers conv_spread conv_windows decaying_total distinct_numbers grouped_positions "
    "max_pool_number moving_average scaled_descent tile_transform top_values true_positions",
)


def _slice(use: Use, x: Held, spans: Sequence[tuple[int, Any, Any, Any]], type: TensorType) -> Held:
    """Part of a tensor: (axis, start, end, step) for some of its axes."""
    if not spans:
        return x
    columns = [use.writer.vector(list(column)) for column in zip(*spans, strict=True)]
    axes, starts, ends, steps = columns
    return use("Slice", x, starts, ends, axes, steps, type=type)


@writes("slice")
def _sliced(use: Use, input_: Held, begin: Any, size: Any) -> Any:
    begins, sizes = use.writer.entries(begin), use.writer.entries(size)
    spans = []
    for axis, (start, count) in enumerate(zip(begins, sizes, strict=True)):
        known = not isinstance(count, Held)
        if known and count == -1:
            end: Any = _END
        elif known and not isinstance(start, Held):
            end = start + count
        else:
            end = use.writer.scalar(start) + use.writer.scalar(count)
        if not known or isinstance(start, Held) or start != 0 or end != _END:
            spans.append((axis, start, end, 1))
    return _slice(use, input_, spans, use.type)


@writes("strided_slice")
def _strided_slice(
    use: Use,
    input_: Held,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    lows, highs = use.writer.entries(begin), use.writer.entries(end)
    steps = [1] * len(lows) if strides is None else list(use.ints(strides, "strides"))
    taken = sum(not (new_axis_mask >> i | ellipsis_mask >> i) & 1 for i in range(len(lows)))
    spans: list[tuple[int, Any, Any, Any]] = []
    picked: list[tuple[int, Held]] = []
    new, dropped, axis, place = [], [], 0, 0  # place: of the axis in the result
    for i, (low, high, step) in enumerate(zip(lows, highs, steps, strict=True)):
        if ellipsis_mask >> i & 1:
            axis, place = axis + input_.rank - taken, place + input_.rank - taken
        elif new_axis_mask >> i & 1:
            new.append(place)
            place += 1
        elif shrink_axis_mask >> i & 1:
            if isinstance(low, Held):
                picked.append((axis, low))
            else:
                spans.append((axis, low, _END if low == -1 else low + 1, 1))
                dropped.append(axis)
            axis += 1
        else:
            start = (0 if step > 0 else _END) if begin_mask >> i & 1 else low
            stop = (_END if step > 0 else _BEGIN) if end_mask >> i & 1 else high
            if (start, stop, step) != (0, _END, 1) or isinstance(start, Held) or isinstance(stop, Held):
                spans.append((axis, start, stop, step))
            axis, place = axis + 1, place + 1
    made = _slice(use, input_, spans, _spans_type(input_, spans))
    for at, index in reversed(picked):  # from behind, so that axes keep their numbers
        made = ops.gather(made, index, axis=at)
        dropped = [d if d < at else d - 1 for d in dropped]
    if dropped:
        made = use("Squeeze", made, use.constant(dropped), type=TensorType(use.dtype, None))
    return use("Unsqueeze", made, use.constant(new)) if new else made


def _spans_type(x: Held, spans: Sequence[tuple[int, Any, Any, Any]]) -> TensorType:
    """The type of a slice that still has all axes."""
    shape = list(x.type.shape or (None,) * x.rank)
    for axis, *ends in spans:
        size, known = shape[axis], not any(isinstance(n, Held) for n in ends)
        shape[axis] = len(range(*slice(*ends).indices(size))) if known and size is not None else None
    return TensorType(x.dtype, tuple(shape))


@writes("reverse")
def _reverse(use: Use, tensor: Held, axis: Any) -> Any:
    axes = [normalize_axis(a, tensor.rank) for a in use.ints(axis, "axis")]
    return _slice(use, tensor, [(a, -1, _BEGIN, -1) for a in axes], use.type)


@writes("roll")
def _roll(use: Use, input: Held, shift: Any, axis: Any) -> Any:
    made = input
    for by, at in zip(use.ints(shift, "shift"), use.ints(axis, "axis"), strict=True):
        at = normalize_axis(at, input.rank)
        size = None if input.type.shape is None else input.type.shape[at]
        if size is None:
            raise NoForm("the sizes of the axes that it rolls along must be known")
        if size and by % size:
            parts = [(at, size - by % size, _END, 1)], [(at, 0, size - by % size, 1)]
            made = ops.concat([_slice(use, made, p, _spans_type(made, p)) for p in parts], axis=at)
    return made


@writes("reverse_sequence")
def _reverse_sequence(use: Use, input: Held, seq_lengths: Held, seq_dim: int, batch_dim: int) -> Any:
    """ONNX's operator wants both axes in front."""
    seq, batch = normalize_axis(seq_dim, input.rank), normalize_axis(batch_dim, input.rank)
    lengths = ops.cast(seq_lengths, dtype=int64)
    if {seq, batch} == {0, 1}:
        return use("ReverseSequence", input, lengths, batch_axis=batch, time_axis=seq)
    front = (batch, seq, *(a for a in range(input.rank) if a not in (batch, seq)))
    x = ops.transpose(input, perm=front)
    made = use("ReverseSequence", x, lengths, type=x.type, batch_axis=0, time_axis=1)
    return ops.transpose(made, perm=tuple(int(n) for n in np.argsort(front)))


@writes("gather")
def _gather(use: Use, params: Held, indices: Held, axis: Any, batch_dims: int) -> Any:
    (place,) = use.ints(axis, "axis")
    place = normalize_axis(place, params.rank)
    if batch_dims:
        if place != batch_dims:
            raise NoForm("with batch_dims, the axis must be the one behind them")
        return use("GatherND", params, ops.expand_dims(_indices(indices), axis=-1), batch_dims=batch_dims)
    return use("Gather", params, indices, axis=place)


def _indices(indices: Held) -> Any:
    """Cast indices to a type that most of ONNX's operators take."""
    return ops.cast(indices, dtype=int64)


@writes("gather_nd")
def _gather_nd(use: Use, params: Held, indices: Held) -> Any:
    if indices.type.shape is not None and indices.type.shape[-1] == 0:  # each of them takes everything
        return ops.broadcast_to(params, shape=(*indices.shape[:-1], *params.shape))
    return use("GatherND", params, _indices(indices))


@writes("pick")
def _pick(use: Use, x: Held, index: Held, axis: int) -> Any:
    """Zeros if there is no such element: the index is moved inside, and what comes is masked."""
    place = normalize_axis(axis, x.rank)
    size = x.shape[place]
    at = _indices(index)
    at = ops.select(at < 0, at + size, at)
    inside = ops.logical_and(at >= 0, at < size)
    found = ops.gather(x, ops.select(inside, at, 0), axis=place)
    return ops.select(inside, found, 0)


@writes("matrix_band_part")
def _band_part(use: Use, input: Held, num_lower: Any, num_upper: Any) -> Any:
    (lower,), (upper,) = use.ints(num_lower, "num_lower"), use.ints(num_upper, "num_upper")
    made = input if lower < 0 else use("Trilu", input, use.constant(-lower), upper=1)
    return made if upper < 0 else use("Trilu", made, use.constant(upper), upper=0)


@writes("one_hot")
def _one_hot(use: Use, indices: Held, on_value: Held, off_value: Held, depth: Any, axis: int) -> Any:
    """Write a comparison: ONNX's own operator takes negative indices to count from the end."""
    rank = indices.rank
    place = normalize_axis(axis, rank + 1)
    numbers = (
        ops.range(0, use.writer.scalar(depth), 1, dtype=int64)
        if isinstance(depth, Held)
        else use.constant(np.arange(depth))
    )
    numbers = ops.reshape(numbers, shape=(-1, *(1,) * (rank - place)))
    return ops.select(ops.equal(ops.expand_dims(_indices(indices), axis=place), numbers), on_value, off_value)


@writes("row_update")
def _row_update(use: Use, tensor: Held, index: Held, row: Held) -> Any:
    """Replace one row of an array.

    If the shape of the rows depends on what is fed, the array has rows of size one until the first write. So
    the array is then broadcast against the row.
    """
    at = ops.reshape(_indices(index), shape=(1, 1))
    rows = tensor.type.shape
    if rows is not None and None not in rows[1:]:
        return use("ScatterND", tensor, at, ops.expand_dims(row, axis=0))
    count = ops.range(0, tensor.shape[0], 1, dtype=int64)
    here = ops.reshape(ops.equal(count, ops.reshape(at, shape=())), shape=(-1, *(1,) * row.rank))
    return use("Where", here, ops.expand_dims(row, axis=0), tensor)


_SCATTERS = {"tensor_scatter_update": None, "tensor_scatter_add": "add", "tensor_scatter_sub": "add"}


@writes(*_SCATTERS)
def _tensor_scatter(use: Use, tensor: Held, indices: Held, updates: Held) -> Any:
    if use.op.name == "tensor_scatter_sub":
        updates = use.writer.constant(0, use.dtype) - updates
    return use("ScatterND", tensor, _indices(indices), updates, reduction=_SCATTERS[use.op.name])


@writes("scatter_nd")
def _scatter_nd(use: Use, indices: Held, updates: Held, shape: Any) -> Any:
    zeros = ops.fill(use.constant(0, use.dtype), dims=shape)
    return use("ScatterND", zeros, _indices(indices), updates, reduction="add")


_COMBINED: dict[str, tuple[str, Any]] = {
    "unsorted_segment_sum": ("add", lambda dtype: 0),
    "unsorted_segment_prod": ("mul", lambda dtype: 1),
    "unsorted_segment_max": ("max", lambda dtype: dtype.min),
    "unsorted_segment_min": ("min", lambda dtype: dtype.max),
}


@writes(*_COMBINED)
def _unsorted_segments(use: Use, data: Held, segment_ids: Held, num_segments: Any) -> Any:
    """Elements of a segment that there is not go into one more, which is cut off."""
    reduction, start = _COMBINED[use.op.name]
    count = use.writer.scalar(num_segments)
    ids = _indices(segment_ids)
    ids = ops.select(ops.logical_or(ids < 0, ids >= count), count, ids)
    rest = data.shape[segment_ids.rank :]
    begin = ops.fill(use.constant(start(use.dtype), use.dtype), dims=(count + 1, *rest))
    type = TensorType(use.dtype, begin.type.shape)
    made = use("ScatterND", begin, ops.expand_dims(ids, axis=-1), data, type=type, reduction=reduction)
    return _slice(use, made, [(0, 0, count, 1)], use.type)


@writes("invert_permutation")
def _invert_permutation(use: Use, x: Held) -> Any:
    positions = ops.range(0, x.shape[0], 1, dtype=use.dtype)
    return use("ScatterElements", x, x, positions, axis=0)


@writes("top_k")
def _top_k(use: Use, input: Held, k: Any, sorted: bool) -> Any:
    values, indices = use.several(
        "TopK",
        input,
        use.writer.vector([use.writer.scalar(k)] if isinstance(k, Held) else [k]),
        types=(use.type, TensorType(int64, use.types[1].shape)),
        axis=-1,
        sorted=int(sorted),
    )
    return values, use.writer.cast(indices, use.types[1].dtype)


@writes("argmax", "argmin")
def _arg(use: Use, input: Held, axis: Any, output_type: DType) -> Any:
    (place,) = use.ints(axis, "axis")
    operator = "ArgMax" if use.op.name == "argmax" else "ArgMin"
    type = TensorType(int64, use.type.shape)
    found = use(operator, input, type=type, axis=normalize_axis(place, input.rank), keepdims=0)
    return use.writer.cast(found, output_type)


@writes("lower_bound", "upper_bound")
def _bound(use: Use, sorted_inputs: Held, values: Held, out_type: DType) -> Any:
    """Count the sorted numbers that are less than each value or, for `upper_bound`, not greater."""
    row, sought = ops.expand_dims(sorted_inputs, axis=1), ops.expand_dims(values, axis=2)
    below = row < sought if use.op.name == "lower_bound" else row <= sought
    return ops.reduce_sum(ops.cast(below, dtype=out_type), axis=(2,))


@writes("where")
def _where(use: Use, condition: Held) -> Any:
    places = use("NonZero", ops.cast(condition, dtype=bool_), type=TensorType(int64, (condition.rank, None)))
    return use("Transpose", places, perm=(1, 0))


@writes("unique", "unique_with_counts")
def _unique(use: Use, x: Held, out_idx: DType) -> Any:
    one, all_ = TensorType(int64, (None,)), TensorType(int64, x.type.shape)
    values, _, inverse, counts = use.several("Unique", x, types=(use.type, one, all_, one), sorted=0)
    found = (values, use.writer.cast(inverse, out_idx))
    return found if use.op.name == "unique" else (*found, use.writer.cast(counts, out_idx))
