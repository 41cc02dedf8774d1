"""Meanings of ops that move elements: the same NumPy calls, done to the positions of elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.witness import tape
from tests.witness.meanings import MEANINGS, axes_of, meaning, stacked
from tests.witness.tape import Node, arranged, leaf, moved, put, reshape, select, total


def _ints(values: Any) -> list[int]:
    return [int(v) for v in np.atleast_1d(values)]


MEANINGS.update(
    {
        "reshape": lambda x, shape: moved(x, lambda p: p.reshape(_ints(shape) if np.size(shape) else ())),
        "transpose": lambda x, perm=None: moved(
            x, lambda p: p.transpose(None if perm is None else _ints(perm))
        ),
        "expand_dims": lambda x, axis: moved(x, lambda p: np.expand_dims(p, int(axis))),
        "squeeze": lambda x, axis=None: moved(
            x, lambda p: p.squeeze(tuple(_ints(axis)) if axis is not None and np.size(axis) else None)
        ),
        "tile": lambda x, multiples: moved(x, lambda p: np.tile(p, _ints(multiples))),
        "reverse": lambda x, axis: moved(x, lambda p: np.flip(p, axes_of(axis, p.ndim))),
        "roll": lambda x, shift, axis: moved(
            x, lambda p: np.roll(p, tuple(_ints(shift)), tuple(_ints(axis)))
        ),
        "concat": lambda *xs, axis: arranged(xs, lambda ps: np.concatenate(ps, int(axis))),
        "stack": lambda *xs, axis: stacked(xs, int(axis)),
        "pad": lambda x, paddings: moved(
            x, lambda p: np.pad(p, np.asarray(paddings).tolist(), constant_values=-1)
        ),
        "mirror_pad": lambda x, paddings, mode: moved(
            x, lambda p: np.pad(p, np.asarray(paddings).tolist(), mode.lower())
        ),
        "fill": lambda value, dims: moved(
            value, lambda p: np.broadcast_to(p, _ints(dims) if np.size(dims) else ())
        ),
        "diag": lambda x: moved(x, lambda p: _diagonal(p)),
        "matrix_diag": lambda x: moved(x, _diagonal),
        "diag_part": lambda x: moved(x, np.diagonal),
        "matrix_diag_part": lambda x: moved(x, lambda p: np.diagonal(p, axis1=-2, axis2=-1)),
        "range": lambda start, limit, delta, dtype: leaf(np.arange(start, limit, delta).astype(dtype.numpy)),
    }
)


def _diagonal(places: np.ndarray) -> np.ndarray:
    n = places.shape[-1]
    return np.where(np.eye(n, dtype=bool), places[..., None, :], -1)


@meaning("matrix_band_part")
def _matrix_band_part(x: Node, num_lower: Any, num_upper: Any) -> Node:
    rows, columns = np.indices(x.shape[-2:])
    low, high = int(num_lower), int(num_upper)
    inside = ((low < 0) | (rows - columns <= low)) & ((high < 0) | (columns - rows <= high))
    return moved(x, lambda p: np.where(inside, p, -1))


@meaning("matrix_set_diag")
def _matrix_set_diag(x: Node, diagonal: Node) -> Node:
    on = np.broadcast_to(np.eye(*x.shape[-2:], dtype=bool), x.shape)
    return select(on, moved(diagonal, lambda p: np.broadcast_to(p[..., None, :], x.shape)), x)


@meaning("slice")
def _slice(x: Node, begin: Any, size: Any) -> Node:
    spans = zip(_ints(begin), _ints(size), x.shape, strict=True) if x.shape else ()
    at = tuple(slice(b, n if s == -1 else b + s) for b, s, n in spans)
    return moved(x, lambda p: p[at])


@meaning("strided_slice")
def _strided_slice(
    x: Node,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Node:
    low, high = _ints(begin), _ints(end)
    steps = [1] * len(low) if strides is None else _ints(strides)
    at: list[Any] = []
    for i, (b, e, s) in enumerate(zip(low, high, steps, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            at.append(Ellipsis)
        elif new_axis_mask & bit:
            at.append(np.newaxis)
        elif shrink_axis_mask & bit:
            at.append(b)
        else:
            at.append(slice(None if begin_mask & bit else b, None if end_mask & bit else e, s))
    return moved(x, lambda p: p[tuple(at)])


@meaning("split")
def _split(x: Node, axis: Any, num_split: int) -> tuple[Node, ...]:
    return _split_v(x, [x.shape[int(axis)] // num_split] * num_split, axis, num_split)


@meaning("split_v")
def _split_v(x: Node, size_splits: Any, axis: Any, num_split: int) -> tuple[Node, ...]:
    sizes = _ints(size_splits)
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[int(axis)] - sum(sizes) - 1
    ends = np.cumsum(sizes)[:-1]
    return tuple(moved(x, lambda p, i=i: np.split(p, ends, int(axis))[i]) for i in range(len(sizes)))


@meaning("unstack")
def _unstack(x: Node, num: int, axis: int = 0) -> tuple[Node, ...]:
    return tuple(moved(x, lambda p, i=i: np.take(p, i, axis)) for i in range(num))


# Positions that are data


def _inside(indices: np.ndarray, size: int) -> None:
    if ((indices < 0) | (indices >= size)).any():
        raise IndexError(f"an index of {indices.tolist()} is not in [0, {size})")


@meaning("gather")
def _gather(x: Node, indices: Node, axis: Any = 0, batch_dims: int = 0) -> Node:
    at = int(axis) % len(x.shape)
    _inside(indices.value, x.shape[at])
    if not batch_dims:
        return moved(x, lambda p: np.take(p, indices.value, at))
    count = math.prod(x.shape[:batch_dims])

    def rows(places: np.ndarray) -> np.ndarray:
        each = zip(
            places.reshape(count, *x.shape[batch_dims:]),
            indices.value.reshape(count, *indices.shape[batch_dims:]),
            strict=True,
        )
        made = np.stack([np.take(p, i, at - batch_dims) for p, i in each])
        return made.reshape(*x.shape[:batch_dims], *made.shape[1:])

    return moved(x, rows)


def _rows_at(indices: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Flat positions of the slices that index vectors name."""
    places = np.arange(math.prod(shape)).reshape(shape)
    for axis in range(indices.shape[-1]):
        _inside(indices[..., axis], shape[axis])
    return places[tuple(np.moveaxis(indices, -1, 0))]


@meaning("gather_nd")
def _gather_nd(x: Node, indices: Node) -> Node:
    return tape.take(x, _rows_at(indices.value, x.shape))


@meaning("scatter_nd")
def _scatter_nd(indices: Node, updates: Node, shape: Any) -> Node:
    sizes = tuple(_ints(shape))
    return put(updates, _rows_at(indices.value, sizes), sizes)


@meaning("tensor_scatter_add")
def _tensor_scatter_add(x: Node, indices: Node, updates: Node) -> Node:
    return x + _scatter_nd(indices, updates, x.shape)


@meaning("tensor_scatter_sub")
def _tensor_scatter_sub(x: Node, indices: Node, updates: Node) -> Node:
    return x - _scatter_nd(indices, updates, x.shape)


@meaning("tensor_scatter_update")
def _tensor_scatter_update(x: Node, indices: Node, updates: Node) -> Node:
    """The last of several updates of one place counts."""
    places = _rows_at(indices.value, x.shape)
    source = np.arange(x.value.size)
    source[places.reshape(-1)] = x.value.size + np.arange(places.size)
    return arranged([x, updates], lambda _: source.reshape(x.shape))


@meaning("one_hot")
def _one_hot(indices: Node, on_value: Node, off_value: Node, depth: Any, axis: int = -1) -> Node:
    at = len(indices.shape) if axis == -1 else axis
    hits = np.moveaxis(indices.value[..., None] == np.arange(int(depth)), -1, at)
    return leaf(np.where(hits, on_value.value, off_value.value))


@meaning("unsorted_segment_sum")
def _unsorted_segment_sum(data: Node, ids: Node, num_segments: Any) -> Node:
    """Negative segments are dropped."""
    count, row = int(num_segments), data.shape[len(ids.shape) :]
    _inside(np.maximum(ids.value, 0), count)
    width = math.prod(row)
    places = ids.value.reshape(-1, 1) * width + np.arange(width)
    places = np.where(ids.value.reshape(-1, 1) < 0, -1, places)
    return put(data, places.reshape(data.shape), (count, *row))


@meaning("segment_sum")
def _segment_sum(data: Node, segment_ids: Node, num_segments: Any = None) -> Node:
    ids = segment_ids.value
    last = int(ids[-1]) + 1 if ids.size else 0
    return _unsorted_segment_sum(data, segment_ids, last if num_segments is None else num_segments)


@meaning("segment_mean")
def _segment_mean(data: Node, segment_ids: Node, num_segments: Any = None) -> Node:
    total = _segment_sum(data, segment_ids, num_segments)
    counts = np.maximum(np.bincount(segment_ids.value, minlength=total.shape[0]), 1)
    shape = (-1,) + (1,) * (len(data.shape) - 1)
    return total / leaf(counts.reshape(shape), data)


def _unsorted_extreme(find: Any, empty: Any) -> Any:
    def apply(data: Node, ids: Node, num_segments: Any) -> Node:
        count, row = int(num_segments), data.shape[len(ids.shape) :]
        flat = reshape(data, (ids.value.size, *row))
        numbers = ids.value.reshape(-1)
        parts = []
        for n in range(count):
            where = np.flatnonzero(numbers == n)
            if where.size:
                part = moved(flat, lambda p, where=where: p[where])
                parts.append(MEANINGS[find](part, axis=0))
            else:
                parts.append(leaf(np.full(row, empty(data.dtype)), data))
        return stacked(parts)

    return apply


def _lowest(dtype: Any) -> Any:
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.finfo(dtype).max if dtype.kind == "f" else np.iinfo(dtype).max


MEANINGS["unsorted_segment_max"] = _unsorted_extreme("reduce_max", _lowest)
MEANINGS["unsorted_segment_min"] = _unsorted_extreme("reduce_min", _highest)
MEANINGS["unsorted_segment_prod"] = _unsorted_extreme("reduce_prod", lambda dtype: 1)


@meaning("top_k")
def _top_k(x: Node, k: Any, sorted: bool = True) -> tuple[Node, Node]:
    order = np.argsort(-x.value, axis=-1, kind="stable")[..., : int(k)]
    return moved(x, lambda p: np.take_along_axis(p, order, -1)), leaf(order.astype(np.int32))


@meaning("where")
def _where(condition: Node) -> Node:
    return leaf(np.argwhere(condition.value))


# Arrays of rows


@meaning("tensor_array")
def _tensor_array(dtype: Any, size: Any, element_shape: Any, number: int) -> Node:
    row = () if element_shape is None or None in element_shape else tuple(element_shape)
    return leaf(np.zeros((int(size), *row), dtype.numpy))


def _shaped(flow: Node, row: tuple[int, ...]) -> Node:
    return flow if flow.shape[1:] == row else leaf(np.zeros((flow.shape[0], *row), flow.dtype))


@meaning("tensor_array_write")
def _tensor_array_write(flow: Node, index: Node, value: Node, number: int) -> Node:
    flow = _shaped(flow, value.shape)
    _inside(index.value, flow.shape[0])
    hit = (np.arange(flow.shape[0]) == index.value).reshape(-1, *(1,) * len(value.shape))
    return select(np.broadcast_to(hit, flow.shape), value, flow)


@meaning("tensor_array_scatter")
def _tensor_array_scatter(flow: Node, index: Node, value: Node, number: int) -> Node:
    return _tensor_scatter_update(_shaped(flow, value.shape[1:]), leaf(index.value[:, None]), value)


@meaning("tensor_array_grow")
def _tensor_array_grow(flow: Node, size: Any, row: Any = None) -> Node:
    if row is not None and not flow.shape[0]:
        return leaf(np.zeros((int(size), *_ints(row)), flow.dtype))
    extra = int(size) - flow.shape[0]
    return MEANINGS["pad"](flow, [(0, max(extra, 0))] + [(0, 0)] * (len(flow.shape) - 1))


# Windows


def _patches(x: Node, sizes: list[int], strides: list[int], rates: list[int], padding: str) -> Node:
    """The windows of NHWC images: [batch, rows, columns, height, width, channels]; -1 if there is none."""
    starts = []
    for axis, (k, s, r) in enumerate(zip(sizes, strides, rates, strict=True), start=1):
        n, reach = x.shape[axis], (k - 1) * r + 1
        count = -(-n // s) if padding == "SAME" else (n - reach) // s + 1
        before = max((count - 1) * s + reach - n, 0) // 2 if padding == "SAME" else 0
        starts.append(np.arange(count)[:, None] * s - before + np.arange(k) * r)

    def windows(places: np.ndarray) -> np.ndarray:
        rows, columns = (s[:, None, :, None] if i == 0 else s[None, :, None, :] for i, s in enumerate(starts))
        rows, columns = np.broadcast_arrays(rows, columns)
        inside = (rows >= 0) & (rows < x.shape[1]) & (columns >= 0) & (columns < x.shape[2])
        found = places[:, np.clip(rows, 0, x.shape[1] - 1), np.clip(columns, 0, x.shape[2] - 1)]
        return np.where(inside[None, ..., None], found, -1)

    return moved(x, windows)


@meaning("conv2d")
def _conv2d(x: Node, w: Node, strides: Any, padding: str, data_format: str, dilations: Any, **_: Any) -> Node:
    assert data_format == "NHWC"
    found = _patches(x, list(w.shape[:2]), list(strides[1:3]), list(dilations[1:3]), padding)
    flat = reshape(found, (*found.shape[:3], -1))
    return tape.product(flat, reshape(w, (1, 1, math.prod(w.shape[:3]), w.shape[3])))


@meaning("max_pool")
def _max_pool(x: Node, ksize: Any, strides: Any, padding: str, data_format: str) -> Node:
    size, step = list(ksize[1:3]), list(strides[1:3])
    found = _patches(x, size, step, [1, 1], padding)
    there = _patches(leaf(np.ones(x.shape)), size, step, [1, 1], padding).value > 0
    return MEANINGS["reduce_max"](select(there, found, leaf(-1e300, x)), axis=(3, 4))


@meaning("avg_pool")
def _avg_pool(x: Node, ksize: Any, strides: Any, padding: str, data_format: str) -> Node:
    size, step = list(ksize[1:3]), list(strides[1:3])
    found = _patches(x, size, step, [1, 1], padding)
    counts = _patches(leaf(np.ones(x.shape)), size, step, [1, 1], padding).value.sum(axis=(3, 4))
    return total(found, (3, 4)) / leaf(counts, x)


# Matrices


@meaning("matrix_inverse")
def _matrix_inverse(x: Node, adjoint: bool = False) -> Node:
    x = tape.flipped(x) if adjoint else x

    def pull(g: Node, y: Node) -> Node:
        turned = tape.flipped(y)
        return -tape.product(tape.product(turned, g), turned)

    return tape.by_result(x, np.linalg.inv(x.value), pull)


@meaning("matrix_determinant")
def _matrix_determinant(x: Node) -> Node:
    """By expansion along the first row: no inverse, so singular matrices have derivatives too."""
    n = x.shape[-1]
    if n == 0:
        return leaf(np.ones(x.shape[:-2]), x)
    made: Node | None = None
    for j in range(n):
        rest = [i for i in range(n) if i != j]
        minor = moved(x, lambda p, rest=rest: p[..., 1:, :][..., rest])
        part = moved(x, lambda p, j=j: p[..., 0, j]) * _matrix_determinant(minor)
        made = part if made is None else (made - part if j % 2 else made + part)
    assert made is not None
    return made
