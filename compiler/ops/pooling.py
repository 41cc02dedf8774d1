"""Pooling: the largest element, or the mean, of each window that slides over the input.

`ksize` and `strides` have an entry per axis, in whatever order the data format has
them, so that one formula serves all formats and ranks. Padding is never stored: an
index that falls outside is moved to the nearest element and the element ignored.
Gradients are in gather form: an element of the input asks all windows that cover it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING, REAL, int32, int64
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Reduce
from staticgraph.compiler.ops.kinds import View, composite, movement, windowed
from staticgraph.compiler.ops.samples import Draw, Sample, distinct, real
from staticgraph.compiler.ops.windows import Window, check_padding, positions, window

Ints = tuple[int, ...]
TRUE: Any = True


def _windows(shape: Sequence[int], ksize: Ints, strides: Ints, padding: str) -> list[Window]:
    return [window(n, k, s, 1, padding) for n, k, s in zip(shape, ksize, strides, strict=True)]


def _pooled_type(x: TensorType, ksize: Ints, strides: Ints, padding: str, data_format: str) -> TensorType:
    rank = len(data_format)
    for name, values in (("ksize", ksize), ("strides", strides)):
        require(len(values) == rank, f"{name} {values} has {len(values)} entries, {rank} are needed")
        require(min(values) > 0, f"{name} {values} must be positive")
    check_padding(padding)
    require(x.rank in (None, rank), f"the input has rank {x.rank}, {rank} is needed for {data_format}")
    shape = x.shape or (None,) * rank
    return TensorType(
        x.dtype, tuple(positions(n, k, s, 1, padding) for n, k, s in zip(shape, ksize, strides, strict=True))
    )


def _both(a: Any, b: Any) -> Any:
    """`a and b`, where True stands for what always holds."""
    return b if a is TRUE else a if b is TRUE else a & b


def _when(condition: Any, value: Expr, otherwise: Any) -> Expr:
    return value if condition is TRUE else scalar.select(condition, value, Const(otherwise, value.dtype))


def _clamped(index: Any, length: int) -> Any:
    return scalar.minimum(scalar.maximum(index, 0), length - 1)


def _look_in(at: Sequence[Expr], windows: list[Window]) -> tuple[tuple[Index, ...], list[Any], Any]:
    """For the window at `at`: its taps, where they look in the input, and whether that is inside."""
    taps, places, inside = [], [], TRUE
    for axis, (position, w) in enumerate(zip(at, windows, strict=True)):
        place: Any = position * w.stride if w.stride > 1 else position
        if w.size > 1:
            taps.append(Index(f"t{axis}", w.size))
            place = place + taps[-1]
        if w.before or w.after:
            place = place - w.before
            inside = _both(inside, _both(scalar.ge(place, 0), scalar.lt(place, w.length)))
            place = _clamped(place, w.length)
        places.append(place)
    return tuple(taps), places, inside


def _look_back(
    at: Sequence[Expr], windows: list[Window]
) -> tuple[tuple[Index, ...], list[Any], list[Any], Any]:
    """For the element at `at`: steps back, the windows there, its taps in them, whether they cover it."""
    steps, places, taps, covers = [], [], [], TRUE
    for axis, (index, w) in enumerate(zip(at, windows, strict=True)):
        shifted: Any = index + w.before if w.before else index
        place = shifted // w.stride if w.stride > 1 else shifted
        tap: Any = shifted - place * w.stride if w.stride > 1 else Const(0, int64)
        overlap = -(-w.size // w.stride)
        if overlap > 1:
            steps.append(Index(f"j{axis}", overlap))
            place, tap = place - steps[-1], tap + steps[-1] * w.stride
        if w.stride > 1 or overlap > 1:
            covers = _both(covers, scalar.lt(tap, w.size))
            covers = _both(covers, _both(scalar.ge(place, 0), scalar.lt(place, w.count)))
            place = _clamped(place, w.count)
        places.append(place)
        taps.append(tap)
    return tuple(steps), places, taps, covers


def _combined(axes: tuple[Index, ...], combine: str, value: Expr) -> Expr:
    return Reduce(axes, combine, value) if axes else value


def _tap_number(taps: Sequence[Any], windows: list[Window]) -> Expr:
    """The taps of all axes as one number, the last axis fastest."""
    number: Any = Const(0, int64)
    for tap, w in zip(taps, windows, strict=True):
        number = number * w.size + tap if w.size > 1 else number
    return number


def _inside_count(at: Sequence[Any], windows: list[Window]) -> Any:
    """How many taps of the window at `at` are inside the input."""
    count: Any = math.prod(w.size for w in windows if not (w.before or w.after))
    for position, w in zip(at, windows, strict=True):
        if w.before or w.after:
            start = position * w.stride - w.before
            count = (scalar.minimum(start + w.size, w.length) - scalar.maximum(start, 0)) * count
    return count


def _divided(total: Expr, count: Any) -> Expr:
    return total / (scalar.cast(count, total.dtype) if isinstance(count, Expr) else Const(count, total.dtype))


# In NumPy: one tap of all windows at a time


def _numpy_taps(shape: Sequence[int], ksize: Ints, strides: Ints, padding: str) -> Any:
    """For each tap: its number, and per axis the place it looks at from each position."""
    windows = _windows(shape, ksize, strides, padding)
    for number, taps in enumerate(product(*(range(k) for k in ksize))):
        yield (
            number,
            [np.arange(w.count) * w.stride + t - w.before for w, t in zip(windows, taps, strict=True)],
        )


def _at_tap(x: np.ndarray, places: list[np.ndarray], outside: Any) -> np.ndarray:
    inside = [(p >= 0) & (p < n) for p, n in zip(places, x.shape, strict=True)]
    values = x[np.ix_(*(p % n for p, n in zip(places, x.shape, strict=True)))]
    return np.where(reduce(np.logical_and, np.meshgrid(*inside, indexing="ij", sparse=True)), values, outside)


def _add_at_tap(x: np.ndarray, places: list[np.ndarray], values: np.ndarray) -> None:
    inside = [(p >= 0) & (p < n) for p, n in zip(places, x.shape, strict=True)]
    x[np.ix_(*(p[i] for p, i in zip(places, inside, strict=True)))] += values[np.ix_(*inside)]


def _numpy_max(x: np.ndarray, ksize: Ints, strides: Ints, padding: str, data_format: str) -> np.ndarray:
    low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    taps = _numpy_taps(x.shape, ksize, strides, padding)
    return np.maximum.reduce([_at_tap(x, places, low) for _, places in taps]).astype(x.dtype)


def _numpy_counts(shape: Ints, ksize: Ints, strides: Ints, padding: str) -> Any:
    ones = np.ones(shape)
    return sum(_at_tap(ones, places, 0.0) for _, places in _numpy_taps(shape, ksize, strides, padding))


def _numpy_mean(x: np.ndarray, ksize: Ints, strides: Ints, padding: str, data_format: str) -> np.ndarray:
    wide = x.astype(np.float64)
    total = sum(_at_tap(wide, places, 0.0) for _, places in _numpy_taps(x.shape, ksize, strides, padding))
    return np.asarray(total / _numpy_counts(x.shape, ksize, strides, padding)).astype(x.dtype)


def _numpy_mean_grad(
    g: np.ndarray, orig_input_shape: Ints, ksize: Ints, strides: Ints, padding: str, data_format: str
) -> np.ndarray:
    out = np.zeros(orig_input_shape)
    shares = g / _numpy_counts(orig_input_shape, ksize, strides, padding)
    for _, places in _numpy_taps(orig_input_shape, ksize, strides, padding):
        _add_at_tap(out, places, shares)
    return out.astype(g.dtype)


def _numpy_first(x: np.ndarray, y: np.ndarray, ksize: Ints, strides: Ints, padding: str) -> np.ndarray:
    first = np.full(y.shape, math.prod(ksize), np.int32)
    for number, places in reversed(list(_numpy_taps(x.shape, ksize, strides, padding))):
        first[_at_tap(x, places, np.nan) == y] = number
    return first


def _numpy_unpool(
    first: np.ndarray, g: np.ndarray, shape: Ints, ksize: Ints, strides: Ints, padding: str
) -> np.ndarray:
    out = np.zeros(shape)
    for number, places in _numpy_taps(shape, ksize, strides, padding):
        _add_at_tap(out, places, np.where(first == number, g, 0))
    return out.astype(g.dtype)


def _numpy_pick(first: np.ndarray, x: np.ndarray, ksize: Ints, strides: Ints, padding: str) -> np.ndarray:
    out = np.zeros(first.shape, x.dtype)
    for number, places in _numpy_taps(x.shape, ksize, strides, padding):
        out += np.where(first == number, _at_tap(x, places, 0), 0).astype(x.dtype)
    return out


def _numpy_number(
    first: np.ndarray, shape: Ints, ksize: Ints, strides: Ints, padding: str, include_batch: bool
) -> np.ndarray:
    numbers = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    picked = _numpy_pick(first, numbers, ksize, strides, padding)
    return picked if include_batch else picked % math.prod(shape[1:])


# Where the largest element of each window is


def _first_sample(shape: Ints, ksize: Ints, strides: Ints, padding: str) -> tuple[Draw, dict[str, Any]]:
    counts = tuple(w.count for w in _windows(shape, ksize, strides, padding))
    first = Draw(counts, 0, math.prod(ksize) - 1, dtype="int32")
    return first, {"ksize": ksize, "strides": strides, "padding": padding}


_first_valid, _valid = _first_sample((1, 4, 6, 2), (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
_first_over, _over = _first_sample((2, 5, 6, 1), (1, 3, 2, 1), (1, 2, 1, 1), "VALID")
_first_whole, _whole = _first_sample((3, 2, 3, 1), (1, 2, 3, 1), (1, 1, 1, 1), "VALID")


@windowed(
    type=lambda x, y, **_: TensorType(int32, y.shape), numpy=_numpy_first, dtypes=REAL, differentiable=False,
    samples=[
        Sample(real(1, 4, 6, 2), real(1, 2, 3, 2), **_valid),
        Sample(real(1, 5, 4, 1), real(1, 3, 2, 1), ksize=(1, 3, 2, 1), strides=(1, 2, 2, 1), padding="SAME"),
        Sample(real(3, 2, 3, 1), real(3, 1, 1, 1), **_whole),
    ],
)  # fmt: skip
def max_pool_first(
    at: tuple[Expr, ...], x: View, y: View, *, ksize: Ints, strides: Ints, padding: str
) -> Expr:
    """The tap of each window that sees its largest element `y`, the first if several do; none for NaN."""
    windows = _windows(x.shape, ksize, strides, padding)
    taps, places, inside = _look_in(at, windows)
    by_axis = iter(taps)
    number = _tap_number([next(by_axis) if w.size > 1 else 0 for w in windows], windows)
    found = _both(inside, scalar.eq(x[tuple(places)], y[at]))
    first = scalar.select(found, number, Const(math.prod(ksize), int64))
    return scalar.cast(_combined(taps, "minimum", first), int32)


@windowed(
    type=lambda first, g, shape, **_: TensorType(g.dtype, shape), numpy=_numpy_unpool, dtypes=REAL,
    vars={"first": "int32"}, differentiable=(1,),
    grad=lambda h, y, first, g, shape, **attrs: (None, ops.max_pool_pick(first, h, **attrs)),
    samples=[
        Sample(_first_valid, real(1, 2, 3, 2), shape=(1, 4, 6, 2), **_valid),
        Sample(_first_over, real(2, 2, 5, 1), shape=(2, 5, 6, 1), **_over),
        Sample(_first_whole, real(3, 1, 1, 1), shape=(3, 2, 3, 1), **_whole),
    ],
)  # fmt: skip
def max_unpool(
    at: tuple[Expr, ...], first: View, g: View, *, shape: Ints, ksize: Ints, strides: Ints, padding: str
) -> Expr:
    """Gradient of max pooling: each element of `g` goes back to the tap `first` of its window."""
    windows = _windows(shape, ksize, strides, padding)
    steps, places, taps, covers = _look_back(at, windows)
    chosen = scalar.eq(scalar.cast(first[tuple(places)], int64), _tap_number(taps, windows))
    return _combined(steps, "add", _when(_both(covers, chosen), g[tuple(places)], 0))


@windowed(
    type=lambda first, x, **_: TensorType(x.dtype, first.shape), numpy=_numpy_pick, dtypes=REAL,
    vars={"first": "int32"}, differentiable=(1,),
    grad=lambda g, y, first, x, **attrs: (None, max_unpool(first, g, shape=x.shape, **attrs)),
    samples=[
        Sample(_first_valid, real(1, 4, 6, 2), **_valid),
        Sample(_first_over, real(2, 5, 6, 1), **_over),
        Sample(_first_whole, real(3, 2, 3, 1), **_whole),
    ],
)  # fmt: skip
def max_pool_pick(
    at: tuple[Expr, ...], first: View, x: View, *, ksize: Ints, strides: Ints, padding: str
) -> Expr:
    """The element of each window of `x` that tap `first` sees."""
    windows = _windows(x.shape, ksize, strides, padding)
    taps, places, inside = _look_in(at, windows)
    by_axis = iter(taps)
    number = _tap_number([next(by_axis) if w.size > 1 else 0 for w in windows], windows)
    chosen = _both(inside, scalar.eq(scalar.cast(first[at], int64), number))
    return _combined(taps, "add", _when(chosen, x[tuple(places)], 0))


@movement(
    type=lambda first, **_: TensorType(int64, first.shape), numpy=_numpy_number, vars={"first": "int32"},
    differentiable=False,
    samples=[
        Sample(_first_valid, shape=(1, 4, 6, 2), include_batch=False, **_valid),
        Sample(_first_over, shape=(2, 5, 6, 1), include_batch=True, **_over),
        Sample(_first_whole, shape=(3, 2, 3, 1), include_batch=True, **_whole),
    ],
)  # fmt: skip
def max_pool_number(
    at: tuple[Expr, ...],
    first: View,
    *,
    shape: Ints,
    ksize: Ints,
    strides: Ints,
    padding: str,
    include_batch: bool,
) -> Expr:
    """The number, in row-major order, of the element that tap `first` of each window sees.

    Elements are counted within their image, or with `include_batch` within the batch.
    """
    windows = _windows(shape, ksize, strides, padding)
    tap: Any = scalar.cast(first[at], int64)
    number: Any = Const(0, int64)
    weight = 1
    for axis in reversed(range(len(windows))):
        w = windows[axis]
        place = at[axis] * w.stride + tap % w.size - w.before
        tap = tap // w.size
        if axis > 0 or include_batch:
            number = number + place * weight
        weight *= w.length
    return number


# The pools


def _max_grad(g: Any, y: Any, x: Any, data_format: str, **attrs: Any) -> tuple[Any]:
    return (max_unpool(max_pool_first(x, y, **attrs), g, shape=x.shape, **attrs),)


def _samples(draw: Callable[..., Draw], rank: int) -> list[Sample]:
    if rank == 5:
        return [
            Sample(draw(1, 4, 4, 6, 2), ksize=(1, 2, 2, 2, 1), strides=(1, 2, 2, 2, 1), padding="VALID"),
            Sample(draw(1, 3, 4, 5, 1), ksize=(1, 2, 3, 2, 1), strides=(1, 1, 2, 2, 1), padding="SAME"),
            Sample(
                draw(1, 2, 3, 2, 4), ksize=(1, 1, 2, 1, 3), strides=(1, 1, 1, 2, 1), padding="SAME",
                data_format="NCDHW",
            ),
        ]  # fmt: skip
    return [
        Sample(draw(2, 4, 6, 3), ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID"),
        Sample(draw(1, 7, 5, 2), ksize=(1, 3, 3, 1), strides=(1, 2, 2, 1), padding="SAME"),
        Sample(
            draw(1, 2, 5, 6), ksize=(1, 1, 3, 2), strides=(1, 1, 1, 3), padding="SAME", data_format="NCHW"
        ),
        Sample(draw(1, 6, 5, 1), ksize=(1, 2, 1, 1), strides=(1, 3, 2, 1), padding="VALID"),
    ]


def _max_pool(rank: int, name: str, tf: str, default: str) -> OpDef:
    @windowed(
        name=name,
        tf=tf,
        type=_pooled_type,
        numpy=_numpy_max,
        dtypes=REAL,
        samples=_samples(distinct, rank),
        grad=_max_grad,
    )
    def pool(
        at: tuple[Expr, ...],
        input: View,
        *,
        ksize: Ints,
        strides: Ints,
        padding: str,
        data_format: str = default,
    ) -> Expr:
        """The largest element of each window; padding does not count.

        The first of equal ones gets the gradient.
        """
        taps, places, _ = _look_in(at, _windows(input.shape, ksize, strides, padding))
        return _combined(taps, "maximum", input[tuple(places)])

    return pool


def _avg_pool(rank: int, name: str, tf: str, default: str) -> tuple[OpDef, OpDef]:
    def back_type(g: TensorType, orig_input_shape: Any, **attrs: Any) -> TensorType:
        return TensorType(g.dtype, tuple(orig_input_shape))

    @windowed(
        name=name, tf=tf, type=_pooled_type, numpy=_numpy_mean, dtypes=FLOATING, samples=_samples(real, rank),
        grad=lambda g, y, x, **attrs: (back(g, orig_input_shape=x.shape, **attrs),),
    )  # fmt: skip
    def pool(
        at: tuple[Expr, ...],
        value: View,
        *,
        ksize: Ints,
        strides: Ints,
        padding: str,
        data_format: str = default,
    ) -> Expr:
        """The mean of each window; padding does not count."""
        windows = _windows(value.shape, ksize, strides, padding)
        taps, places, inside = _look_in(at, windows)
        total = _combined(taps, "add", _when(inside, value[tuple(places)], 0))
        return _divided(total, _inside_count(at, windows))

    @windowed(
        name=f"{name}_grad",
        tf=f"{tf}Grad",
        type=back_type,
        numpy=_numpy_mean_grad,
        dtypes=FLOATING,
        operands=("orig_input_shape",),
        partial=("orig_input_shape",),
        samples=[
            Sample(
                real(
                    *(
                        w.count
                        for w in _windows(
                            s.draws[0].shape, s.attrs["ksize"], s.attrs["strides"], s.attrs["padding"]
                        )
                    )
                ),
                orig_input_shape=s.draws[0].shape,
                **s.attrs,
            )
            for s in _samples(real, rank)
        ],
        grad=lambda h, y, g, orig_input_shape, **attrs: (pool(h, **attrs),),
    )
    def back(
        at: tuple[Expr, ...], grad: View, *, orig_input_shape: Any, ksize: Ints, strides: Ints, padding: str,
        data_format: str = default,
    ) -> Expr:  # fmt: skip
        """Gradient of average pooling by its input, which has shape `orig_input_shape`.

        Each element of `grad` is shared among the elements of its window.
        """
        windows = _windows(orig_input_shape, ksize, strides, padding)
        steps, places, _, covers = _look_back(at, windows)
        share = _divided(grad[tuple(places)], _inside_count(places, windows))
        return _combined(steps, "add", _when(covers, share, 0))

    return pool, back


max_pool = _max_pool(4, "max_pool", "MaxPool", "NHWC")
max_pool3d = _max_pool(5, "max_pool3d", "MaxPool3D", "NDHWC")
avg_pool, avg_pool_grad = _avg_pool(4, "avg_pool", "AvgPool", "NHWC")
avg_pool3d, avg_pool3d_grad = _avg_pool(5, "avg_pool3d", "AvgPool3D", "NDHWC")


def _argmax_type(
    input: TensorType, ksize: Ints, strides: Ints, padding: str, include_batch_in_index: bool
) -> tuple[TensorType, TensorType]:
    pooled = _pooled_type(input, ksize, strides, padding, "NHWC")
    return pooled, TensorType(int64, pooled.shape)


def _numpy_argmax(
    x: np.ndarray, ksize: Ints, strides: Ints, padding: str, include_batch_in_index: bool
) -> tuple[np.ndarray, np.ndarray]:
    y = _numpy_max(x, ksize, strides, padding, "NHWC")
    first = _numpy_first(x, y, ksize, strides, padding)
    return y, _numpy_number(first, x.shape, ksize, strides, padding, include_batch_in_index)


def _argmax_grad(g: Any, y: Any, x: Any, include_batch_in_index: bool, **attrs: Any) -> tuple[Any]:
    return _max_grad(g[0], y[0], x, "NHWC", **attrs)


@composite(
    tf="MaxPoolWithArgmax",
    type=_argmax_type,
    numpy=_numpy_argmax,
    dtypes=REAL,
    grad=_argmax_grad,
    samples=[
        Sample(distinct(2, 4, 6, 3), ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID"),
        Sample(
            distinct(2, 5, 5, 2),
            ksize=(1, 3, 2, 1),
            strides=(1, 2, 1, 1),
            padding="SAME",
            include_batch_in_index=True,
        ),
        Sample(distinct(1, 2, 3, 1), ksize=(1, 2, 3, 1), strides=(1, 1, 1, 1), padding="VALID"),
    ],
)
def max_pool_with_argmax(
    input: Any, *, ksize: Ints, strides: Ints, padding: str, include_batch_in_index: bool = False
) -> Any:
    """Max pooling of NHWC images, and the number of each maximum among the elements of its image.

    With `include_batch_in_index` it is the number among the elements of the batch.
    """
    attrs = {"ksize": ksize, "strides": strides, "padding": padding}
    y = max_pool(input, **attrs)
    first = max_pool_first(input, y, **attrs)
    return y, max_pool_number(first, shape=input.shape, include_batch=include_batch_in_index, **attrs)
