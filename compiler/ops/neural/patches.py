"""Windows of images and volumes, each as one pixel whose depth holds its elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import REAL
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, shape_text
from staticgraph.compiler.graph.sizes import at_least, same
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.neural.windows import LONGEST, positions
from staticgraph.compiler.ops.samples import Sample, real

Ints = Sequence[int]
MOST_TAPS = 64  # elements of a window that are written out one by one


def _windows(n: int, size: int, stride: int, rate: int, padding: str) -> tuple[int, int, int]:
    """Return the number of windows along an axis, and of zeros before and after it."""
    reach = (size - 1) * rate + 1
    if padding == "VALID":
        require(reach <= LONGEST, f"a window of {reach} elements is too long", f"{LONGEST} is the most")
        return at_least((n - reach + stride) // stride, 0), 0, 0
    count = positions(n, size, stride, rate, padding)
    assert count is not None
    missing = at_least((count - 1) * stride + reach - n, 0)
    return count, missing // 2, missing - missing // 2


def _type(images: TensorType, padding: str, rank: int, **given: Ints) -> TensorType:
    """The type rule of windows of tensors with `rank` axes; `given` are sizes and steps by name."""
    require(padding in ("SAME", "VALID"), f"padding {padding!r} must be SAME or VALID")
    for name, value in given.items():
        form = {4: "[1, rows, columns, 1]", 5: "[1, planes, rows, columns, 1]"}[rank]
        fits = len(value) == rank and value[0] == value[-1] == 1 and min(value) > 0
        require(fits, f"{name} {list(value)} must be {form}")
    if images.shape is None:
        return TensorType(images.dtype, (None,) * rank)
    what = f"{rank} axes are needed, and this is {shape_text(images.shape)}"
    require(len(images.shape) == rank, what)
    n, *space, c = images.shape
    ksizes = given["ksizes"]
    rates = given.get("rates", (1,) * rank)
    counts = [
        None if size is None else _windows(size, ksizes[d], given["strides"][d], rates[d], padding)[0]
        for d, size in enumerate(space, 1)
    ]
    return TensorType(images.dtype, (n, *counts, None if c is None else c * math.prod(ksizes)))


def _meaning(images: np.ndarray, ksizes: Ints, strides: Ints, rates: Ints, padding: str) -> np.ndarray:
    n, *space, c = images.shape
    axes = range(1, len(space) + 1)
    found = [_windows(images.shape[d], ksizes[d], strides[d], rates[d], padding) for d in axes]
    counts, taps = tuple(count for count, _, _ in found), tuple(ksizes[1:-1])
    out = np.zeros((n, *counts, *taps, c), images.dtype)
    for place in np.ndindex(*counts, *taps):
        at, tap = place[: len(space)], place[len(space) :]
        start = [at[d - 1] * strides[d] + tap[d - 1] * rates[d] - found[d - 1][1] for d in axes]
        if all(0 <= i < size for i, size in zip(start, space, strict=True)):
            out[:, *place] = images[:, *start]
    return out.reshape(n, *counts, math.prod(ksizes) * c)


def _gathered(padded: Any, counts: Sequence[int], ksizes: Ints, strides: Ints, rates: Ints) -> Any:
    """Patches of large windows: their places are looked up, along one axis after the other."""
    n, c, d = padded.shape[0], padded.shape[-1], len(counts)
    for axis, count in enumerate(counts, 1):
        taps = np.arange(ksizes[axis], dtype=np.int32) * rates[axis]
        places = np.arange(count, dtype=np.int32)[:, None] * strides[axis] + taps
        padded = ops.gather(padded, places.reshape(-1), axis=axis)
    split = [size for pair in zip(counts, ksizes[1:-1], strict=True) for size in pair]
    windows, taps_of = range(1, 2 * d + 1, 2), range(2, 2 * d + 1, 2)
    apart = ops.reshape(padded, shape=(n, *split, c))
    together = ops.transpose(apart, perm=(0, *windows, *taps_of, 2 * d + 1))
    return ops.reshape(together, shape=(n, *counts, math.prod(ksizes) * c))


def _expanded(images: Any, ksizes: Ints, strides: Ints, rates: Ints, padding: str) -> Any:
    """One strided slice for each element of a window, beside each other."""
    n, *space, c = images.shape
    axes = range(1, len(space) + 1)
    found = [_windows(images.shape[d], ksizes[d], strides[d], rates[d], padding) for d in axes]
    if any(same(count, 0) for count, _, _ in found):
        shape = (n, *(count for count, _, _ in found), math.prod(ksizes) * c)
        return ops.fill(images.recorder.constant(0, images.dtype), dims=shape)
    padded = ops.pad(images, paddings=((0, 0), *((before, after) for _, before, after in found), (0, 0)))
    if math.prod(ksizes) > MOST_TAPS:
        return _gathered(padded, [count for count, _, _ in found], ksizes, strides, rates)
    parts, whole = [], 1 | 1 << len(images.shape) - 1  # images and channels: their number may be open
    for tap in np.ndindex(*ksizes[1:-1]):
        start = [int(tap[d - 1]) * rates[d] for d in axes]
        stop = [start[d - 1] + (found[d - 1][0] - 1) * strides[d] + 1 for d in axes]
        ends = {"begin": (0, *start, 0), "end": (0, *stop, 0), "begin_mask": whole, "end_mask": whole}
        parts.append(ops.strided_slice(padded, strides=(1, *strides[1:-1], 1), **ends))
    return ops.concat(parts, axis=len(space) + 1)


@composite(
    tf="ExtractImagePatches", type=lambda images, padding, **given: _type(images, padding, 4, **given),
    numpy=_meaning, dtypes=REAL,
    samples=[
        Sample(
            real(1, 4, 5, 2), ksizes=(1, 2, 3, 1), strides=(1, 1, 2, 1), rates=(1, 1, 1, 1), padding="VALID"
        ),
        Sample(
            real(2, 3, 3, 1), ksizes=(1, 3, 3, 1), strides=(1, 2, 1, 1), rates=(1, 1, 1, 1), padding="SAME"
        ),
        Sample(
            real(1, 5, 5, 1), ksizes=(1, 2, 2, 1), strides=(1, 1, 1, 1), rates=(1, 2, 3, 1), padding="VALID"
        ),
    ],
)
def extract_image_patches(images: Any, *, ksizes: Ints, strides: Ints, rates: Ints, padding: str) -> Any:
    """Windows of the images, each as one pixel whose depth holds its elements in row-major order.

    `ksizes`, `strides` and `rates` (steps inside a window) have the form (1, rows, columns, 1).
    """
    return _expanded(images, ksizes, strides, rates, padding)


@composite(
    tf="ExtractVolumePatches", type=lambda input, padding, **given: _type(input, padding, 5, **given),
    numpy=lambda input, ksizes, strides, padding: _meaning(input, ksizes, strides, (1,) * 5, padding),
    dtypes=REAL,
    samples=[Sample(real(1, 3, 4, 2, 2), ksizes=(1, 2, 3, 1, 1), strides=(1, 1, 2, 1, 1), padding="VALID"),
             Sample(real(2, 2, 3, 2, 1), ksizes=(1, 2, 2, 3, 1), strides=(1, 2, 1, 1, 1), padding="SAME"),
             Sample(real(1, 2, 2, 2, 1), ksizes=(1, 1, 1, 1, 1), strides=(1, 1, 1, 2, 1), padding="VALID")],
)
def extract_volume_patches(input: Any, *, ksizes: Ints, strides: Ints, padding: str) -> Any:
    """Windows of volumes, each as one point whose depth holds its elements in row-major order.

    `ksizes` and `strides` have the form (1, planes, rows, columns, 1).
    """
    return _expanded(input, ksizes, strides, (1,) * 5, padding)
