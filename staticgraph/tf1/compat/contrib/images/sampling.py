"""Values of images between their pixels: bilinear, with zeros outside."""

from __future__ import annotations

from typing import Any

import staticgraph as sg

__all__ = ["resampler"]


def pixel(images: Any, y: Any, x: Any) -> Any:
    """Pixels at whole places, zeros outside.

    Args:
        images: [batch, height, width, channels].
        y, x: Integers [batch, points].

    Returns:
        [batch, points, channels].
    """
    sizes = sg.shape(images)
    batch, height, width, channels = (sizes[axis] for axis in range(4))
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    row, column = sg.clip_by_value(y, 0, height - 1), sg.clip_by_value(x, 0, width - 1)
    flat = sg.reshape(images, [batch * height * width, channels])
    found = sg.gather(flat, (sg.range(batch)[:, None] * height + row) * width + column)
    everywhere = sg.broadcast_to(inside[:, :, None], sg.shape(found))
    return sg.where(everywhere, found, sg.zeros_like(found))


def nearest(images: Any, y: Any, x: Any) -> Any:
    """The nearest pixels, of two as near the one farther from 0; arguments as for `bilinear`."""

    def rounded(v: Any) -> Any:
        return sg.cast(sg.sign(v) * sg.floor(sg.abs(v) + 0.5), sg.int32)

    return pixel(images, rounded(y), rounded(x))


def bilinear(images: Any, y: Any, x: Any) -> Any:
    """Values between four pixels, of which those outside count as zeros.

    Args:
        images: Floats [batch, height, width, channels].
        y, x: Floats [batch, points].

    Returns:
        [batch, points, channels].
    """
    top, left = sg.floor(y), sg.floor(x)
    down = sg.cast(y - top, images.dtype)[:, :, None]
    right = sg.cast(x - left, images.dtype)[:, :, None]
    top, left = sg.cast(top, sg.int32), sg.cast(left, sg.int32)
    above = (1 - right) * pixel(images, top, left) + right * pixel(images, top, left + 1)
    below = (1 - right) * pixel(images, top + 1, left) + right * pixel(images, top + 1, left + 1)
    return (1 - down) * above + down * below


def resampler(data: Any, warp: Any, name: str = "resampler") -> sg.Tensor:
    """Values of images at given places, bilinear, zeros outside.

    Args:
        data: Floats [batch, height, width, channels].
        warp: Places (x, y), floats [batch, ..., 2]; x counts along the width.
        name: The name of the scope.

    Returns:
        [batch, ..., channels].

    >>> import staticgraph as sg
    >>> image = sg.reshape([0.0, 1.0, 2.0, 3.0], [1, 2, 2, 1])
    >>> with sg.Session() as sess:
    ...     sess.run(resampler(image, [[[0.5, 0.0], [0.5, 0.5], [5.0, 5.0]]])).ravel().tolist()
    [0.5, 1.5, 0.0]
    """
    with sg.name_scope(name, "resampler", [data, warp]):
        data, warp = sg.convert_to_tensor(data), sg.convert_to_tensor(warp)
        points = sg.reshape(warp, [sg.shape(warp)[0], -1, 2])
        found = bilinear(data, points[:, :, 1], points[:, :, 0])
        made = sg.reshape(found, sg.concat([sg.shape(warp)[:-1], sg.shape(data)[3:]], 0))
        made.set_shape(warp.shape[:-1].concatenate(data.shape[3:]))
        return made
