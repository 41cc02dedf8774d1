"""Windows that look at one place of each image."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.casts import cast
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor, stop_gradient
from staticgraph.building.operation_counts import counts_as
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int32
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.random_numbers.random_ops import random_normal, random_uniform


@counts_as(1, "input", "size", "offsets")
def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a window of each image; outside of the image it holds noise. There is no gradient.

    Args:
        input: float32 images of shape [batch, height, width, channels].
        size: Height and width of the windows.
        offsets: The place of each window's centre, float32 of shape [batch, 2]: row, then column.
        centered: Offsets count from the centre of the image, half as far, so that -1 and 1 are the edges;
            otherwise from the upper left corner.
        normalized: Offsets are parts of the height and the width, not numbers of pixels.
        uniform_noise: The noise is uniform between the least and the largest element of each channel;
            otherwise it is normal, with the mean and the deviation of these.
        name: The name of the operation.

    Returns:
        float32 windows of shape [batch, *size, channels].

    >>> x = sg.reshape(sg.range(9.0), [1, 3, 3, 1])
    >>> window = sg.image.extract_glimpse(x, [2, 2], [[2.0, 1.0]], centered=False, normalized=False)
    >>> sg.Session().run(window[0, :, :, 0])
    array([[3., 4.],
           [6., 7.]], dtype=float32)
    """
    with name_scope(name, "ExtractGlimpse", [input, size, offsets]) as scope:
        images = convert_to_tensor(input, float32, "input")
        wanted = convert_to_tensor(size, int32, "size")
        places = convert_to_tensor(offsets, float32, "offsets")
        shape = ops.shape_of(images, out_type=int32)
        found, inside = images, []
        for axis in (1, 2):
            whole, part = cast(shape[axis], float32), cast(wanted[axis - 1], float32)
            start = places[:, axis - 1] * whole if normalized else places[:, axis - 1]
            start = (start / 2.0 + whole / 2.0 if centered else start) - part / 2.0
            numbers = ops.range(start=0, limit=wanted[axis - 1], delta=1, dtype=int32)
            at = ops.expand_dims(cast(start, int32), axis=1) + numbers
            last = shape[axis] - 1
            inside.append(ops.logical_and(ops.greater_equal(at, 0), ops.less_equal(at, last)))
            kept = ops.maximum(ops.minimum(at, last), 0)
            found = ops.gather(found, kept, axis=axis, batch_dims=1)
        is_inside = ops.logical_and(ops.expand_dims(inside[0], axis=2), ops.expand_dims(inside[1], axis=1))
        noise = _noise(images, ops.shape_of(found, out_type=int32), uniform_noise)
        made = ops.select(ops.expand_dims(is_inside, axis=3), found, noise)
        return stop_gradient(made, name=scope)


def _noise(images: Tensor, shape: Tensor, is_uniform: bool) -> Tensor:
    """Return noise of the given shape, with the range or the deviation of each channel."""
    axes = (0, 1, 2)
    if is_uniform:
        low, high = ops.reduce_min(images, axis=axes), ops.reduce_max(images, axis=axes)
        return random_uniform(shape) * (high - low) + low
    mean = ops.reduce_mean(images, axis=axes)
    variance = ops.reduce_mean(ops.square(images - mean), axis=axes)
    return random_normal(shape) * ops.sqrt(variance) + mean
