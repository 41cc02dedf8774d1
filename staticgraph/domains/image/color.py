"""Colours: other coordinates for red, green and blue, and changes of hue and saturation.

Hue, saturation and value describe a pixel by three numbers: the hue in [0, 1), how far round the circle of
red, green and blue it lies; its greatest part, the value; and how much smaller the least part is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import stack, tile
from staticgraph.arrays.casts import cast
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import constants, counts_as
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.image.intensity import convert_image_dtype, in_floating
from staticgraph.mathematics.math_ops import clip_by_value
from staticgraph.mathematics.products import tensordot

_LUMA = np.array([0.2989, 0.5870, 0.1140], np.float32)
_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ = [[1.0, 1.0, 1.0], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV = [[1.0, 1.0, 1.0], [0.0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0.0]]


def _colored(images: Any, call: str, channels: int = 3) -> Tensor:
    images = convert_to_tensor(images, name="images")
    with checked(call):
        shape = images.type.shape
        require(
            not shape or shape[-1] in (channels, None),
            f"images have shape {images.shape}, and the last axis must have size {channels}",
        )
    return images


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """The brightness of coloured pixels, 0.2989 red + 0.587 green + 0.114 blue, as the only channel.

    >>> import staticgraph as sg
    >>> sg.image.rgb_to_grayscale(sg.placeholder(sg.uint8, [None, 28, 28, 3]))
    <sg.Tensor 'rgb_to_grayscale:0' shape=(?, 28, 28, 1) dtype=uint8>
    """
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = _colored(images, "rgb_to_grayscale")
        bright = convert_image_dtype(images, float32)
        with counted_as(images.graph, 14 if images.type.is_static else 28):  # a tensordot, and a new axis
            gray = ops.reduce_sum(bright * _LUMA, axis=-1, keepdims=True)
        return convert_image_dtype(gray, images.dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Images of one channel with three equal ones."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = _colored(images, "grayscale_to_rgb", channels=1)
        with checked("grayscale_to_rgb"):
            require(images.type.rank is not None, "the rank of the images must be known")
        with counted_as(images.graph, 14 if images.type.is_static else 46):
            return tile(images, [*(1 for _ in (images.type.shape or ())[:-1]), 3], name=scope)


def _changed_base(images: Any, matrix: list[list[float]], call: str) -> Tensor:
    images = _colored(images, call)
    return tensordot(images, convert_to_tensor(matrix, dtype=images.dtype, name="kernel"), [[-1], [0]])


def rgb_to_yiq(images: Any) -> Tensor:
    """Red, green and blue as YIQ: brightness and the two parts of colour of American television."""
    return _changed_base(images, _YIQ, "rgb_to_yiq")


def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yiq`."""
    return _changed_base(images, _FROM_YIQ, "yiq_to_rgb")


def rgb_to_yuv(images: Any) -> Tensor:
    """Red, green and blue as YUV: brightness and the two parts of colour of European television."""
    return _changed_base(images, _YUV, "rgb_to_yuv")


def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yuv`."""
    return _changed_base(images, _FROM_YUV, "yuv_to_rgb")


def _parts(images: Tensor) -> list[Tensor]:
    return [images[..., i] for i in range(3)]


def _hue_and_range(images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hues in [0, 1), and the least and the greatest part of each pixel."""
    red, green, blue = _parts(images)
    high = ops.maximum(red, ops.maximum(green, blue))
    low = ops.minimum(red, ops.minimum(green, blue))
    sixth = ops.div_no_nan(ops.ones_like(high), (high - low) * 6.0)  # gray pixels have the hue 0
    by_blue = sixth * (red - green) + 4.0 / 6.0
    by_green = ops.select(ops.equal(green, high), sixth * (blue - red) + 2.0 / 6.0, by_blue)
    hue = ops.select(ops.equal(red, high), sixth * (green - blue), by_green)
    hue = ops.select(ops.greater(high, low), hue, ops.zeros_like(hue))
    return ops.select(ops.less(hue, 0.0), hue + 1.0, hue), low, high


def _of_hue(hue: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """The pixels of a hue whose least and greatest parts are given."""
    angle = hue * 6.0
    red = ops.abs(angle - 3.0) - 1.0
    green = 2.0 - ops.abs(angle - 2.0)
    blue = 2.0 - ops.abs(angle - 4.0)
    return stack([low + clip_by_value(x, 0.0, 1.0) * (high - low) for x in (red, green, blue)], axis=-1)


@counts_as(1, "images")
def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Red, green and blue in [0, 1] as hue, saturation and value in [0, 1].

    >>> import staticgraph as sg
    >>> sg.image.rgb_to_hsv(sg.placeholder(sg.float32, [None, 3])).shape.as_list()
    [None, 3]
    """
    with name_scope(name, "RGBToHSV", [images]):
        hue, low, high = _hue_and_range(_colored(images, "rgb_to_hsv"))
        return stack([hue, _saturation(low, high), high], axis=-1)


def _saturation(low: Tensor, high: Tensor) -> Tensor:
    found = ops.div_no_nan(high - low, high)
    return ops.select(ops.greater(high, 0.0), found, ops.zeros_like(found))


@counts_as(1, "images")
def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """The inverse of `rgb_to_hsv`."""
    with name_scope(name, "HSVToRGB", [images]):
        hue, saturation, value = _parts(_colored(images, "hsv_to_rgb"))
        return _of_hue(hue, value * (1.0 - saturation), value)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Coloured images with their hues moved by `delta`, in [-1, 1], round the circle.

    >>> import staticgraph as sg
    >>> sg.image.adjust_hue(sg.placeholder(sg.uint8, [28, 28, 3]), 0.2).dtype
    sg.uint8
    """
    with name_scope(name, "adjust_hue", [image]):

        def change(x: Tensor) -> Tensor:
            hue, low, high = _hue_and_range(x)
            return _of_hue(ops.floormod(hue + cast(delta, x.dtype), 1.0), low, high)

        return in_floating(_colored(image, "adjust_hue"), change, counts=1 + constants(delta))


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Coloured images with their saturation times `saturation_factor`, at most 1."""
    with name_scope(name, "adjust_saturation", [image]):

        def change(x: Tensor) -> Tensor:
            hue, low, high = _hue_and_range(x)
            scaled = _saturation(low, high) * cast(saturation_factor, x.dtype)
            return _of_hue(hue, high * (1.0 - clip_by_value(scaled, 0.0, 1.0)), high)

        counts = 1 + constants(saturation_factor)
        return in_floating(_colored(image, "adjust_saturation"), change, counts=counts)
