"""Grey-scale morphology: the largest sum of image and filter in a window that slides over the image."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, shape_text
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.neural.windows import Window, check_padding, positions, window
from staticgraph.compiler.ops.samples import Sample, distinct

Ints = tuple[int, ...]
MOST_TAPS = 1 << 10  # they are written out one by one


def _type(input: TensorType, filter: TensorType, strides: Ints, rates: Ints, padding: str) -> TensorType:
    for name, values in (("strides", strides), ("rates", rates)):
        fits = len(values) == 4 and values[0] == values[3] == 1 and min(values) > 0
        require(fits, f"{name} {list(values)} must have the form [1, rows, columns, 1]")
    check_padding(padding)
    require(input.rank in (None, 4), f"the input has rank {input.rank}, and 4 is needed")
    require(filter.rank in (None, 3), f"the filter has rank {filter.rank}, and 3 is needed")
    n, h, w, c = input.shape or (None,) * 4
    rows, columns, depth = filter.shape or (None,) * 3
    require(None in (c, depth) or c == depth, f"the input has {c} channels and the filter {depth}")
    require(0 not in (rows, columns), f"the filter has shape {shape_text(filter.shape)}: its window is empty")
    taps = (1 if rows is None else rows) * (1 if columns is None else columns)
    require(taps <= MOST_TAPS, f"the filter has {taps} taps, and at most {MOST_TAPS} are possible")
    high = positions(h, rows, strides[1], rates[1], padding)
    wide = positions(w, columns, strides[2], rates[2], padding)
    return TensorType(input.dtype, (n, high, wide, depth if c is None else c))


def _windows(input: Any, filter: Any, strides: Ints, rates: Ints, padding: str) -> tuple[Window, Window]:
    (_, *sizes, _), taps = input.shape, filter.shape
    down, across = (window(sizes[d], taps[d], strides[d + 1], rates[d + 1], padding) for d in range(2))
    return down, across


def _numpy(input: np.ndarray, filter: np.ndarray, strides: Ints, rates: Ints, padding: str) -> np.ndarray:
    down, across = _windows(input, filter, strides, rates, padding)
    lowest = np.finfo(input.dtype).min  # of a window that sees padding alone, as in TensorFlow
    out = np.full((len(input), down.count, across.count, filter.shape[2]), lowest, input.dtype)
    for i, j, p, q in np.ndindex(down.count, across.count, *filter.shape[:2]):
        y = i * down.stride + p * down.dilation - down.before
        x = j * across.stride + q * across.dilation - across.before
        if 0 <= y < down.length and 0 <= x < across.length:
            out[:, i, j] = np.maximum(out[:, i, j], input[:, y, x] + filter[p, q])
    return out


_ONES = (1, 1, 1, 1)


@composite(
    tf="Dilation2D", type=_type, numpy=_numpy, dtypes=FLOATING,
    samples=[
        Sample(distinct(1, 4, 4, 2), distinct(2, 2, 2), strides=_ONES, rates=_ONES, padding="SAME"),
        Sample(distinct(2, 5, 4, 1), distinct(2, 3, 1), strides=(1, 2, 1, 1), rates=_ONES, padding="VALID"),
        Sample(distinct(1, 5, 5, 1), distinct(2, 2, 1), strides=_ONES, rates=(1, 2, 3, 1), padding="VALID"),
    ],
)
def dilation2d(input: Any, filter: Any, *, strides: Ints, rates: Ints, padding: str) -> Any:
    """max(input[y, x] + filter[p, q]) over the taps (p, q) of each window, per channel.

    `strides` and `rates`, the steps inside a window, have the form (1, rows, columns, 1). Padding never wins.
    Of equal sums the first has the gradient.
    """
    down, across = _windows(input, filter, strides, rates, padding)
    n, c = input.shape[0], input.shape[3]
    around = ((0, 0), (down.before, down.after), (across.before, across.after), (0, 0))
    padded = ops.pad_v2(input, input.recorder.constant(input.dtype.min, input.dtype), paddings=around)
    largest = None
    for p, q in np.ndindex(*filter.shape[:2]):
        y, x = p * down.dilation, q * across.dilation
        end_y = y + (down.count - 1) * down.stride + 1
        end_x = x + (across.count - 1) * across.stride + 1
        end = (n, max(y, end_y), max(x, end_x), c)
        shifted = ops.strided_slice(padded, begin=(0, y, x, 0), end=end, strides=strides)
        total = shifted + ops.gather(ops.gather(filter, p), q)
        largest = total if largest is None else ops.maximum(largest, total)
    return largest
