"""Pooling windows: an output element reads the taps of its window, an input element its covering windows.

Padding is never stored: an index outside of the input is moved to the nearest element, and that element is
ignored. The same functions exist for NumPy arrays, and process one tap of all windows at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Index, Reduce
from staticgraph.compiler.ops.neural.windows import Window, window

Ints = tuple[int, ...]
TRUE: Any = True  # as a condition: what always holds


def pool_windows(shape: Sequence[int], ksize: Ints, strides: Ints, padding: str) -> list[Window]:
    """The windows of each axis."""
    return [window(n, k, s, 1, padding) for n, k, s in zip(shape, ksize, strides, strict=True)]


def both(a: Any, b: Any) -> Any:
    """`a and b`, where True stands for what always holds."""
    return b if a is TRUE else a if b is TRUE else a & b


def when(condition: Any, value: Expr) -> Expr:
    """`value` where `condition` holds, which may be TRUE, and else 0."""
    return value if condition is TRUE else scalar.select(condition, value, Const(0, value.dtype))


def _clamped(index: Any, length: int) -> Any:
    return scalar.minimum(scalar.maximum(index, 0), length - 1)


def tap_place(at: Sequence[Expr], taps: Sequence[int], windows: list[Window]) -> tuple[tuple[Expr, ...], Any]:
    """Return the position in the input of a tap of the window at `at`, and the condition of being inside."""
    places, inside = [], TRUE
    for position, tap, w in zip(at, taps, windows, strict=True):
        place = position * w.stride + (tap - w.before)
        if w.is_padded:
            inside = both(inside, both(scalar.ge(place, 0), scalar.lt(place, w.length)))
            place = _clamped(place, w.length)
        places.append(place)
    return tuple(places), inside


def look_in(at: Sequence[Expr], windows: list[Window]) -> tuple[tuple[Index, ...], list[Any], Any]:
    """For the window at `at`: its taps, where they look in the input, and whether that is inside."""
    taps, places, inside = [], [], TRUE
    for axis, (position, w) in enumerate(zip(at, windows, strict=True)):
        place: Any = position * w.stride if w.stride > 1 else position
        if w.size > 1:
            taps.append(Index(f"t{axis}", w.size))
            place = place + taps[-1]
        if w.is_padded:
            place = place - w.before
            inside = both(inside, both(scalar.ge(place, 0), scalar.lt(place, w.length)))
            place = _clamped(place, w.length)
        places.append(place)
    return tuple(taps), places, inside


def look_back(
    at: Sequence[Expr], windows: list[Window]
) -> tuple[tuple[Index, ...], list[Any], list[Any], Any]:
    """For the element at `at`: steps back, the windows there, its taps in them, whether they cover it."""
    steps, places, taps, covers = [], [], [], TRUE
    for axis, (index, w) in enumerate(zip(at, windows, strict=True)):
        shifted: Any = index if same(w.before, 0) else index + w.before
        place = shifted // w.stride if w.stride > 1 else shifted
        tap: Any = shifted % w.stride if w.stride > 1 else Const(0, int64)
        overlap = -(-w.size // w.stride)
        if overlap > 1:
            steps.append(Index(f"j{axis}", overlap))
            place, tap = place - steps[-1], tap + steps[-1] * w.stride
        if w.stride > 1 or overlap > 1:
            covers = both(covers, scalar.lt(tap, w.size))
            covers = both(covers, both(scalar.ge(place, 0), scalar.lt(place, w.count)))
            place = _clamped(place, w.count)
        places.append(place)
        taps.append(tap)
    return tuple(steps), places, taps, covers


def combined(axes: tuple[Index, ...], combine: str, value: Expr) -> Expr:
    """The reduction of `value`, or itself where windows have a single tap."""
    return Reduce(axes, combine, value) if axes else value


def tap_number(taps: Sequence[Any], windows: list[Window]) -> Expr:
    """The taps of all axes as one number, the last axis fastest."""
    number: Any = Const(0, int64)
    for tap, w in zip(taps, windows, strict=True):
        number = number * w.size + tap if w.size > 1 else number
    return number


def inside_count(at: Sequence[Any], windows: list[Window]) -> Any:
    """Return the count of taps of the window at `at` that are inside the input."""
    count: Any = math.prod(w.size for w in windows if not w.is_padded)
    for position, w in zip(at, windows, strict=True):
        if w.is_padded:
            start = position * w.stride - w.before
            count = (scalar.minimum(start + w.size, w.length) - scalar.maximum(start, 0)) * count
    return count


# Over NumPy arrays


def numpy_taps(shape: Sequence[int], ksize: Ints, strides: Ints, padding: str) -> Any:
    """For each tap: its number, and per axis the place it looks at from each position."""
    windows = pool_windows(shape, ksize, strides, padding)
    for number, taps in enumerate(product(*(range(k) for k in ksize))):
        yield (
            number,
            [np.arange(w.count) * w.stride + t - w.before for w, t in zip(windows, taps, strict=True)],
        )


def at_tap(x: np.ndarray, places: list[np.ndarray], outside: Any) -> np.ndarray:
    """Return the values that a tap reads, one per window, and `outside` for positions outside of `x`."""
    inside = [(p >= 0) & (p < n) for p, n in zip(places, x.shape, strict=True)]
    values = x[np.ix_(*(p % n for p, n in zip(places, x.shape, strict=True)))]
    return np.where(reduce(np.logical_and, np.meshgrid(*inside, indexing="ij", sparse=True)), values, outside)


def add_at_tap(x: np.ndarray, places: list[np.ndarray], values: np.ndarray) -> None:
    """Add to what a tap sees from each position of the windows."""
    inside = [(p >= 0) & (p < n) for p, n in zip(places, x.shape, strict=True)]
    x[np.ix_(*(p[i] for p, i in zip(places, inside, strict=True)))] += values[np.ix_(*inside)]


def numpy_max(x: np.ndarray, ksize: Ints, strides: Ints, padding: str, data_format: str) -> np.ndarray:
    """The largest element of each window."""
    low = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    taps = numpy_taps(x.shape, ksize, strides, padding)
    return np.maximum.reduce([at_tap(x, places, low) for _, places in taps]).astype(x.dtype)
