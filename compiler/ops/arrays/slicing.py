"""Ops that take boxes out of tensors: slice, strided_slice, split and unstack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.open_sizes import lesser
from staticgraph.compiler.graph.shapes import Shape, TensorType, check_parts, normalize_axis, shape_text
from staticgraph.compiler.graph.size_contexts import is_comparing
from staticgraph.compiler.graph.sizes import AnySize, Size, at_least, same, several
from staticgraph.compiler.kernel.expr import Const, Expr
from staticgraph.compiler.ops.arrays.assembly import spread_apart
from staticgraph.compiler.ops.kinds import View, composite, movement, sizes
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.support.dataclass import dataclass


def _sizes(shape: Shape | None, begin: Any, size: Any) -> Shape | None:
    """The shape of a slice; -1 stands for everything after `begin`."""
    if shape is None or begin is None or size is None:
        known = next((s for s in (shape, begin, size) if s is not None), None)
        return None if known is None else (None,) * len(known)
    require(
        len(begin) == len(size) == len(shape),
        f"begin {list(begin)} and size {list(size)} must have one entry for each axis of {shape_text(shape)}",
    )
    out: list[int | None] = []
    for axis, (n, b, s) in enumerate(zip(shape, begin, size, strict=True)):
        require(b is None or b >= 0, f"begin {list(begin)} must not be negative")
        require(s is None or s >= -1, f"size {list(size)} must not be below -1")
        count = (None if n is None or b is None else n - b) if s == -1 else s
        if n is not None and b is not None and count is not None:
            require(
                count >= 0 and b + count <= n,
                f"axis {axis} of size {n} has no elements {b} to {b + count - 1}",
                hint="a size of -1 takes all that is left",
            )
        out.append(count)
    return tuple(out)


def _slice_static(types: list[TensorType], values: list[Any], begin: Any, size: Any) -> Any:
    """The part of a vector with unknown entries is such a vector."""
    if values[0] is None or None in begin or None in size or types[0].rank is None:
        return None
    if isinstance(values[0], tuple):
        return values[0][begin[0] :][: None if size[0] == -1 else size[0]]
    return _slice(values[0], begin, size)


def _slice(input_: np.ndarray, begin: Any, size: Any) -> np.ndarray:
    return input_[tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begin, size, strict=True))]


def _slice_grad(g: Any, y: Any, input_: Any, begin: Any, size: Any) -> tuple[Any]:
    whole, part = sizes(input_), sizes(y)
    if all(isinstance(each, tuple) for each in (begin, whole, part)):
        around: Any = tuple((b, n - b - m) for b, n, m in zip(begin, whole, part, strict=True))
    else:
        before = ops.cast(begin, dtype=int32)
        around = ops.stack([before, ops.shape_of(input_) - before - ops.shape_of(y)], axis=1)
    return (ops.pad(g, paddings=around),)


@movement(
    tf="Slice", type=lambda x, begin, size: TensorType(x.dtype, _sizes(x.shape, begin, size)), numpy=_slice,
    operands=("begin", "size"), partial=("begin", "size"), dtypes=ANY, strings=True, static=_slice_static,
    grad=_slice_grad, grad_takes=(), name="slice",
    samples=[Sample(real(3, 4), begin=(1, 0), size=(2, 3)), Sample(real(3, 4), begin=(0, 2), size=(-1, -1)),
             Sample(real(5), begin=(5,), size=(0,)), Sample(real(), begin=(), size=())],
)
def slice_(at: tuple[Expr, ...], input_: View, *, begin: Any, size: Any) -> Expr:
    """The box of size[i] elements from begin[i] on along each axis i; a size of -1 takes all the rest."""
    return input_[tuple(i + b for i, b in zip(at, begin, strict=True))]


@dataclass(frozen=True, slots=True)
class SliceSpan:
    """Elements that a strided slice takes along one axis of its input.

    `count` is their number, or None if that is not known yet. If it is 0, `start` may be any number.
    """

    start: int
    count: int | None
    step: int


@dataclass(frozen=True, slots=True)
class SliceSpans:
    """A strided slice in plain terms: a span for each axis of the input, and where new axes are."""

    spans: tuple[SliceSpan, ...]
    layout: tuple[int | None, ...]  # for each axis of the result the axis of the input, None for a new one

    @property
    def shape(self) -> Shape:
        return tuple(1 if axis is None else self.spans[axis].count for axis in self.layout)


def resolve(
    shape: Shape, begin: Any, end: Any, strides: Any, begin_mask: int, end_mask: int, ellipsis_mask: int,
    new_axis_mask: int, shrink_axis_mask: int,
) -> SliceSpans:
    """The spans of a strided slice. Bit i of a mask speaks of entry i of begin, end and strides."""
    n = len(begin)
    strides = (1,) * n if strides is None else strides
    require(len(end) == len(strides) == n, "begin, end and strides must have the same length")
    ellipses = [i for i in range(n) if ellipsis_mask >> i & 1]
    require(len(ellipses) <= 1, "there is more than one ellipsis")
    new = [i for i in range(n) if new_axis_mask >> i & 1 and i not in ellipses]
    taken = n - len(new) - len(ellipses)
    hint = "give one index per axis at most; None adds an axis"
    require(taken <= len(shape), f"{taken} indices for a tensor of rank {len(shape)}", hint)
    whole = len(shape) - taken  # axes that the ellipsis stands for; without one it stands at the end
    spans: list[SliceSpan] = []
    layout: list[int | None] = []

    def take_whole() -> None:
        for _ in range(whole):
            layout.append(len(spans))
            spans.append(SliceSpan(0, shape[len(spans)], 1))

    for i in range(n):
        if i in ellipses:
            take_whole()
        elif i in new:
            layout.append(None)
        else:
            axis, size = len(spans), shape[len(spans)]
            if shrink_axis_mask >> i & 1:
                spans.append(_element(axis, size, begin[i]))
            else:
                low, high = (
                    None if m >> i & 1 else (e,) for m, e in ((begin_mask, begin[i]), (end_mask, end[i]))
                )
                layout.append(axis)
                spans.append(_span(axis, size, low, high, strides[i]))
    if not ellipses:
        take_whole()
    return SliceSpans(tuple(spans), tuple(layout))


def _element(axis: int, size: int | None, index: int | None) -> SliceSpan:
    if size is None or index is None:
        return SliceSpan(index or 0, 1, 1)
    require(
        -size <= index < size,
        f"index {index} is out of range for axis {axis} of size {size}",
        hint=f"an index may be {-size} to {size - 1}" if size else "the axis is empty",
    )
    return SliceSpan(index + size if index < 0 else index, 1, 1)


def _span(axis: int, size: int | None, low: Any, high: Any, step: int | None) -> SliceSpan:
    """The span of low:high:step in Python's sense; an end of None is open, one of (None,) not known yet."""
    require(step != 0, f"the stride of axis {axis} is 0")
    if low is None and high is None and step in (1, -1):
        return SliceSpan(0 if step == 1 or size is None else size - 1, size, step)
    if size is None or step is None or (None,) in (low, high):
        return SliceSpan(0, None, step or 1)
    first, last = low and low[0], high and high[0]
    if any(isinstance(n, Size) for n in (size, first, last)):
        return _open_span(size, first, last, step)
    start, stop, step = slice(first, last, step).indices(size)
    return SliceSpan(start, len(range(start, stop, step)), step)


def _open_span(size: AnySize, low: AnySize | None, high: AnySize | None, step: int) -> SliceSpan:
    """The same where sizes are open.

    A part that leaves out ends of an axis, as x[1:-1] does, has no guard that the axis has so many elements.
    """
    leaves_out = step > 0 and (low is None or (type(low) is int and low >= 0))
    if leaves_out and (high is None or (type(high) is int and high < 0)) and not is_comparing():
        start = low or 0
        rest = at_least(size - start + (high or 0), 0)
        return SliceSpan(start, (rest + step - 1) // step, step)
    first, last = (0, size) if step > 0 else (-1, size - 1)

    def inside(end: AnySize) -> AnySize:
        if end < 0:
            end = end + size
            return end if end >= first else first
        return end if end <= last else last

    start = (first if step > 0 else last) if low is None else inside(low)
    stop = (last if step > 0 else first) if high is None else inside(high)
    distance = stop - start if step > 0 else start - stop
    return SliceSpan(start, (distance + abs(step) - 1) // abs(step) if distance >= 0 else 0, step)


def strided_type(input_: TensorType, begin: Any, end: Any, strides: Any = None, **masks: int) -> TensorType:
    """Type rule of `strided_slice`."""
    if input_.shape is None or begin is None or end is None:
        return TensorType(input_.dtype, None)
    return TensorType(input_.dtype, resolve(input_.shape, begin, end, strides, **masks).shape)


def _strided(input_: np.ndarray, begin: Any, end: Any, strides: Any = None, **masks: int) -> np.ndarray:
    """Slice by NumPy's own indexing, entry for entry."""
    key: list[Any] = []
    for i, (b, e) in enumerate(zip(begin, end, strict=True)):
        if masks["ellipsis_mask"] >> i & 1:
            key.append(...)
        elif masks["new_axis_mask"] >> i & 1:
            key.append(None)
        elif masks["shrink_axis_mask"] >> i & 1:
            key.append(b)
        else:
            low = None if masks["begin_mask"] >> i & 1 else b
            high = None if masks["end_mask"] >> i & 1 else e
            key.append(slice(low, high, None if strides is None else strides[i]))
    return np.array(input_[tuple(key)])


def _strided_static(types: list[TensorType], values: list[Any], begin: Any, end: Any, strides: Any = None,
                    **masks: int) -> Any:
    """Entries of a vector of which only some are known: the usual `shape(x)[0]`."""
    if values[0] is None or any(None in operand for operand in (begin, end, strides or ())):
        return None
    if not (isinstance(values[0], tuple) and None in values[0]):
        return _strided(np.asarray(values[0]), begin, end, strides, **masks)
    made = resolve((len(values[0]),), begin, end, strides, **masks)
    span = made.spans[0]
    if made.layout not in ((), (0,)) or span.count is None:
        return None
    entries = tuple(values[0][span.start + k * span.step] for k in range(span.count))
    return entries[0] if made.layout == () else entries


def _strided_grad(
    g: Any, y: Any, input_: Any, begin: Any, end: Any, strides: Any = None, **masks: int
) -> tuple[Any]:
    return (strided_cotangent(g, input_.shape, resolve(input_.shape, begin, end, strides, **masks).spans),)


def strided_cotangent(g: Any, shape: tuple[int, ...], spans: Sequence[SliceSpan]) -> Any:
    """Return the cotangent of what a strided slice is taken of: cotangents go back to where the elements came
    from, in the input's order and with zeros around them.

    Args:
        g: The cotangent of the slice.
        shape: The shape of the input.
        spans: The elements that are taken along each axis of the input.
    """
    counts = [0 if s.count is None else s.count for s in spans]
    if any(same(n, 0) for n in counts):
        return ops.fill(ops.cast(0, dtype=g.dtype), dims=shape)
    g = ops.reshape(g, shape=counts)
    backwards = tuple(d for d, s in enumerate(spans) if s.step < 0)
    if backwards:
        g = ops.reverse(g, axis=backwards)
    low = [
        lesser(s.start, m) if s.step > 0 else s.start + (n - 1) * s.step
        for s, n, m in zip(spans, counts, shape, strict=True)
    ]
    gaps = [abs(s.step) - 1 if several(n) else 0 for s, n in zip(spans, counts, strict=True)]
    high = [
        m - a - n - at_least(n - 1, 0) * gap
        for m, a, n, gap in zip(shape, low, counts, gaps, strict=True)
    ]
    if not any(gaps):
        return ops.pad(g, paddings=tuple(zip(low, high, strict=True)))
    return spread_apart(g, low, high, gaps)


_MASKS = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}


@movement(
    tf="StridedSlice", type=strided_type, numpy=_strided,
    operands=("begin", "end", "strides"), partial=("begin", "end", "strides"), dtypes=ANY, strings=True,
    static=_strided_static, grad=_strided_grad,
    samples=[
        Sample(real(5), begin=(1,), end=(4,), strides=(2,)),
        Sample(real(3, 4), begin=(-1, 0), end=(0, 9), strides=(-1, 3), end_mask=0b01),
        Sample(
            real(3, 4),
            begin=(1, 0, 0),
            end=(2, 0, 0),
            strides=(1, 1, 1),
            shrink_axis_mask=0b001,
            new_axis_mask=0b010,
            begin_mask=0b100,
            end_mask=0b100,
        ),
        Sample(
            real(2, 3, 4),
            begin=(0, -1),
            end=(0, 0),
            strides=(1, 1),
            ellipsis_mask=0b01,
            shrink_axis_mask=0b10,
        ),
        Sample(real(4), begin=(3,), end=(1,), strides=(1,)),
        Sample(real(2, 7), begin=(0, 6), end=(2, 0), strides=(1, -2)),
    ],
)
def strided_slice(
    at: tuple[Expr, ...], input_: View, *, begin: Any, end: Any, strides: Any = None, begin_mask: int = 0,
    end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Expr:
    """The elements begin:end:strides along each axis, as in Python.

    Bit i of a mask changes the meaning of entry i: no lower end (`begin_mask`), no upper end (`end_mask`),
    all axes that are left (`ellipsis_mask`), a new axis of size one (`new_axis_mask`), a single element whose
    axis disappears (`shrink_axis_mask`).
    """
    made = resolve(
        input_.shape,
        begin,
        end,
        strides,
        begin_mask,
        end_mask,
        ellipsis_mask,
        new_axis_mask,
        shrink_axis_mask,
    )
    position: dict[int | None, Expr] = dict(zip(made.layout, at, strict=True))
    zero = Const(0, int64)
    return input_[tuple(position.get(d, zero) * s.step + s.start for d, s in enumerate(made.spans))]


def _split_type(value: TensorType, axis: int, num_split: int) -> tuple[TensorType, ...]:
    check_parts("num_split", num_split)
    require(num_split > 0, f"cannot split into {num_split} parts")
    if value.shape is None or axis is None:
        return (TensorType(value.dtype, None if value.rank is None else (None,) * value.rank),) * num_split
    axis = normalize_axis(axis, len(value.shape))
    n = value.shape[axis]
    require(
        n is None or n % num_split == 0,
        f"{num_split} parts should evenly divide axis {axis}, which has size {n}",
        hint="give a list of sizes for parts of other sizes",
    )
    part = None if n is None else n // num_split
    return (TensorType(value.dtype, (*value.shape[:axis], part, *value.shape[axis + 1 :])),) * num_split


def _parts(value: Any, axis: int, sizes: Sequence[int]) -> tuple[Any, ...]:
    """Slices of `value` one after the other along `axis`."""
    axis, start, out = normalize_axis(axis, len(value.shape)), 0, []
    for size in sizes:
        begin = tuple(start if d == axis else 0 for d in range(len(value.shape)))
        shape = tuple(size if d == axis else n for d, n in enumerate(value.shape))
        out.append(ops.slice(value, begin=begin, size=shape))
        start += size
    return tuple(out)


def _cotangents(g: Any, y: Any) -> list[Any]:
    gs, ys = (g, y) if isinstance(g, tuple) else ((g,), (y,))
    return [ops.zeros_like(b) if a is None else a for a, b in zip(gs, ys, strict=True)]


def _split_grad(g: Any, y: Any, value: Any, axis: int, **_: Any) -> tuple[Any]:
    return (ops.concat(_cotangents(g, y), axis=axis, name="concat"),)


def _numpy_parts(value: np.ndarray, axis: int, sizes: Sequence[int]) -> Any:
    parts = tuple(np.split(value, np.cumsum(sizes)[:-1], axis))
    return parts if len(parts) > 1 else parts[0]


@composite(
    tf="Split", type=_split_type, operands={"axis": "split_dim"}, partial=("axis",), dtypes=ANY, strings=True,
    grad=_split_grad, grad_takes=("axis",),
    numpy=lambda value, axis, num_split: _numpy_parts(
        value, axis, [value.shape[axis] // num_split] * num_split
    ),
    samples=[Sample(real(4, 3), axis=0, num_split=2), Sample(real(2, 6), axis=-1, num_split=3),
             Sample(real(3), axis=0, num_split=1), Sample(real(0, 2), axis=0, num_split=2)],
    elements_of=(0,),
)
def split(value: Any, *, axis: int, num_split: int) -> tuple[Any, ...]:
    """`num_split` equal parts along `axis`."""
    return _parts(value, axis, [value.shape[axis] // num_split] * num_split)


def _split_sizes(n: int | None, sizes: Any) -> list[int | None]:
    """The sizes with the one -1 among them replaced by what is left."""
    known = [s for s in sizes if s is not None and s != -1]
    if n is None or None in sizes:
        return [None if s == -1 else s for s in sizes]
    require(list(sizes).count(-1) <= 1, f"sizes {list(sizes)} have more than one -1")
    fits = sum(known) <= n if -1 in sizes else sum(known) == n
    require(fits, f"sizes {list(sizes)} do not add up to {n}", hint="one size of -1 stands for what is left")
    return [n - sum(known) if s == -1 else s for s in sizes]


def _known_sizes(n: int, sizes: Any) -> list[int]:
    return [s for s in _split_sizes(n, sizes) if s is not None]  # none of a value is: its sizes are known


def _split_v_type(value: TensorType, size_splits: Any, axis: int, num_split: int) -> tuple[TensorType, ...]:
    check_parts("num_split", num_split)
    require(num_split > 0, f"cannot split into {num_split} parts")
    count = num_split if size_splits is None else len(size_splits)
    require(count == num_split, f"size_splits has {count} entries, and num_split is {num_split}")
    if value.shape is None or axis is None:
        return (TensorType(value.dtype, None if value.rank is None else (None,) * value.rank),) * num_split
    axis = normalize_axis(axis, len(value.shape))
    sizes = _split_sizes(value.shape[axis], size_splits or (None,) * num_split)
    return tuple(TensorType(value.dtype, (*value.shape[:axis], s, *value.shape[axis + 1 :])) for s in sizes)


def _numpy_split_v(value: np.ndarray, size_splits: Any, axis: int, num_split: int) -> Any:
    return _numpy_parts(value, axis, _known_sizes(value.shape[axis], size_splits))


@composite(
    tf="SplitV", type=_split_v_type,
    operands={"size_splits": "size_splits", "axis": "split_dim"}, partial=("size_splits", "axis"), dtypes=ANY,
    strings=True, grad=_split_grad, numpy=_numpy_split_v, grad_takes=("axis",),
    samples=[Sample(real(5, 2), size_splits=(2, 3), axis=0, num_split=2),
             Sample(real(2, 6), size_splits=(1, -1, 2), axis=-1, num_split=3),
             Sample(real(3), size_splits=(0, 3), axis=0, num_split=2)],
    elements_of=(0,),
)
def split_v(value: Any, *, size_splits: Any, axis: int, num_split: int) -> tuple[Any, ...]:
    """Parts along `axis`, as many as `num_split`, of the sizes in `size_splits`, one of which may be -1."""
    return _parts(value, axis, _known_sizes(value.shape[axis], size_splits))


def _unstack_type(value: TensorType, num: int, axis: int = 0) -> tuple[TensorType, ...]:
    check_parts("num", num)
    if value.shape is None:
        return (TensorType(value.dtype, None),) * num
    require(value.shape, "a number cannot be unstacked")
    axis = normalize_axis(axis, len(value.shape))
    hint = "num is the size of the axis, and may be left away where that is known"
    require(value.shape[axis] in (None, num), f"axis {axis} has size {value.shape[axis]}, not {num}", hint)
    return (TensorType(value.dtype, value.shape[:axis] + value.shape[axis + 1 :]),) * num


def _unstack_static(types: list[TensorType], values: list[Any], num: int, axis: int = 0) -> Any:
    """The entries of a vector, some of them not known; the only one where there is one."""
    if values[0] is None:
        return None
    parts = values[0] if isinstance(values[0], tuple) else tuple(np.moveaxis(values[0], axis, 0))
    return parts if num != 1 else parts[0]


def _numpy_unstack(value: np.ndarray, num: int, axis: int = 0) -> Any:
    parts = tuple(np.array(part) for part in np.moveaxis(value, axis, 0))
    return parts if num != 1 else parts[0]


def _unstack_grad(g: Any, y: Any, value: Any, num: int, axis: int = 0) -> tuple[Any]:
    return (ops.stack(_cotangents(g, y), axis=axis, name="stack"),)


@composite(
    tf="Unpack", type=_unstack_type, numpy=_numpy_unstack, dtypes=ANY, strings=True, static=_unstack_static,
    grad=_unstack_grad, grad_takes=(),
    samples=[Sample(real(2, 3), num=2), Sample(real(2, 3), num=3, axis=-1), Sample(real(3), num=3),
             Sample(real(1, 2), num=1)],
    elements_of=(0,),
)
def unstack(value: Any, *, num: int, axis: int = 0) -> tuple[Any, ...]:
    """The `num` slices along `axis`, without that axis."""
    axis = normalize_axis(axis, len(value.shape))
    rest = value.shape[:axis] + value.shape[axis + 1 :]
    return tuple(ops.reshape(part, shape=rest) for part in _parts(value, axis, [1] * num))
