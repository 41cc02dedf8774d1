"""The values of pixels: their type, brightness, contrast and gamma, and images made to have mean 0.

Pixels of floating types lie in [0, 1], those of integer types between 0 and the largest number.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from staticgraph.arrays.casts import cast, saturate_cast
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import constants
from staticgraph.building.sizes import size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import as_dtype, float16, float32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.recording.op_count import count_more, counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.image.shapes import checks_of_image
from staticgraph.mathematics.clip import root_of_squares
from staticgraph.mathematics.math_ops import div
from staticgraph.mathematics.reductions import reduce_mean, reduce_variance

_PIXELS = [-1, -2, -3]  # the axes of one image


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """Images in another type, their values scaled from the range of the old type to that of the new one.

    With `saturate`, what lies outside of the new range becomes its nearest end. AttributeError if `dtype`
    is neither floating nor of integers.

    >>> import staticgraph as sg
    >>> sg.image.convert_image_dtype(sg.placeholder(sg.uint8, [28, 28, 1]), sg.float32).dtype
    sg.float32
    """
    image = convert_to_tensor(image, name="image")
    new, old = as_dtype(dtype), image.dtype
    if not (new.is_floating or new.is_integer):
        raise AttributeError(f"convert_image_dtype: dtype is {new}, and must be floating or of integers")
    if new is old:
        return ops.identity(image, name=name)
    cut = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [image]) as scope:
        if old.is_integer and new.is_integer:
            if old.max > new.max:
                return cut(div(image, (old.max + 1) // (new.max + 1)), new, name=scope)
            return ops.multiply(cut(image, new), (new.max + 1) // (old.max + 1), name=scope)
        if old.is_integer:
            return ops.multiply(cast(image, new), 1.0 / old.max, name=scope)
        if new.is_integer:  # the half makes the largest number cover as much as any other
            return cut(ops.multiply(image, float(new.max) + 0.5), new, name=scope)
        return cast(image, new, name=scope)


def in_floating(
    image: Any, change: Callable[[Tensor], Tensor], saturate: bool = False, counts: int | None = None
) -> Tensor:
    """Apply `change` to the image in a floating type, and convert the result to the image's own type.

    Args:
        image: The image.
        change: A function of the image in a floating type.
        saturate: If values out of range become the nearest number of the image's type.
        counts: The number of operations that `change` is in TensorFlow. By default it is as many as here.
    """
    image = convert_to_tensor(image, name="image")
    floating = image if image.dtype in (float16, float32) else convert_image_dtype(image, float32)
    with nullcontext() if counts is None else counted_as(image.graph, counts):
        changed = change(floating)
    return convert_image_dtype(changed, image.dtype, saturate=saturate)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """`image` with `delta` added to every pixel, as a floating number of the range [0, 1].

    >>> import staticgraph as sg
    >>> sg.image.adjust_brightness(sg.placeholder(sg.uint8, [28, 28, 3]), 0.1).dtype
    sg.uint8
    """
    with name_scope(None, "adjust_brightness", [image, delta]):
        return in_floating(image, lambda x: x + cast(delta, x.dtype), saturate=True)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """`images` with the difference of each pixel from the mean of its channel times `contrast_factor`."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]):

        def change(x: Tensor) -> Tensor:
            mean = reduce_mean(x, axis=[-3, -2], keepdims=True)
            return (x - mean) * cast(contrast_factor, x.dtype) + mean

        return in_floating(images, change, saturate=True, counts=1 + constants(contrast_factor))


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """gain * image ** gamma, for pixels in the range [0, 1]. ValueError if `gamma` is negative."""
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        with checked("adjust_gamma"):
            require(isinstance(gamma, Tensor) or gamma >= 0, f"gamma is {gamma}, and must not be negative")

        def change(x: Tensor) -> Tensor:
            return ops.pow(x, cast(gamma, x.dtype)) * cast(gain, x.dtype)

        return in_floating(image, change, saturate=True, counts=2 + constants(gamma, gain))


def per_image_standardization(image: Any) -> Tensor:
    """Images less their mean, divided by their standard deviation.

    The mean and the deviation are of all pixels and channels of an image. The divisor is at least
    1 / sqrt(number of elements), so that an image of one colour becomes 0.

    >>> import staticgraph as sg
    >>> sg.image.per_image_standardization(sg.placeholder(sg.float32, [None, 28, 28, 3])).shape.as_list()
    [None, 28, 28, 3]
    """
    with name_scope(None, "per_image_standardization", [image]):
        image = convert_to_tensor(image, name="image")
        with checked("per_image_standardization"):
            require(
                image.type.rank is None or image.type.rank >= 3,
                f"the image has shape {image.shape}, and at least [height, width, channels] is needed",
            )

        def change(x: Tensor) -> Tensor:
            count = size_of(x, -3) * size_of(x, -2) * size_of(x, -1)
            least = ops.rsqrt(cast(count, x.dtype))
            deviation = root_of_squares(reduce_variance(x, axis=_PIXELS, keepdims=True))
            return (x - reduce_mean(x, axis=_PIXELS, keepdims=True)) / ops.maximum(deviation, least)

        count_more(image.graph, checks_of_image(image))
        return in_floating(image, change, saturate=True, counts=21)
