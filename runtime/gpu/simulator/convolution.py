"""Convolutions of arrays in memory, by NumPy: what cuDNN does on a GPU."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import UnimplementedError
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution, Made
from staticgraph.runtime.gpu.simulator.product import narrowed, stored, widened

_LARGEST = 2**31  # elements of an array


def check(convolution: Convolution) -> None:
    """UnimplementedError if the library has no algorithm for this convolution."""
    c = convolution
    shapes = (c.image_shape, c.filter_shape, c.result_shape)
    if max(map(math.prod, shapes)) >= _LARGEST:
        raise UnimplementedError(f"an array is too large: {c}")


def sizes(convolution: Convolution) -> tuple[int, int, int]:
    """Return the numbers of bytes of image, filter and result."""
    c = convolution
    shapes = (c.image_shape, c.filter_shape, c.result_shape)
    image, filter, result = (c.dtype.size * math.prod(shape) for shape in shapes)
    return image, filter, result


def convolve(convolution: Convolution, image: np.ndarray, filter: np.ndarray, result: np.ndarray) -> None:
    """Convolve, on bytes. Sums are float32."""
    c = convolution
    kind = stored(c.dtype)
    x = widened(image.view(kind).reshape(c.image_shape), c.dtype)
    w, y = filter.view(kind).reshape(c.filter_shape), result.view(kind).reshape(c.result_shape)
    padded = np.pad(x, [(0, 0), *zip(c.before, c.after, strict=True), (0, 0)])
    with np.errstate(all="ignore"):
        if c.made is Made.RESULT:
            taps, made = widened(w, c.dtype), np.zeros(c.result_shape, np.float32)
            for tap, window in _windows(c):
                made += padded[window] @ taps[tap].T
            y[...] = narrowed(made, c.dtype)
        else:
            along = widened(y, c.dtype).reshape(-1, c.outputs)
            for tap, window in _windows(c):
                found = along.T @ padded[window].reshape(-1, c.inputs)
                w[tap] = narrowed(found, c.dtype)


def _windows(c: Convolution) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Yield each tap's index in the filter, and the index of the elements of the padded image it meets."""
    for tap in itertools.product(*map(range, c.taps)):
        starts = [t * d for t, d in zip(tap, c.dilations, strict=True)]
        met = (
            slice(start, start + (n - 1) * s + 1, s)
            for start, n, s in zip(starts, c.positions, c.strides, strict=True)
        )
        yield (slice(None), *tap), (slice(None), *met, slice(None))
