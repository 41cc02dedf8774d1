"""Images of another size, with TensorFlow 1's names: part of `sg.image`."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.sizes import Size, is_known, larger
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, float64, int32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.shapes import compatible
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.image.geometry import pad_to_bounding_box
from staticgraph.domains.image.shapes import as_image, height_and_width


class ResizeMethod:
    """Ways to compute new pixels from old ones: values of `method` of `resize_images`."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = {
    ResizeMethod.BILINEAR: ops.resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: ops.resize_nearest_neighbor,
    ResizeMethod.BICUBIC: ops.resize_bicubic,
    ResizeMethod.AREA: ops.resize_area,
}
_NAMES = {
    "bilinear": ResizeMethod.BILINEAR,
    "nearest": ResizeMethod.NEAREST_NEIGHBOR,
    "bicubic": ResizeMethod.BICUBIC,
    "area": ResizeMethod.AREA,
}


def resize_bilinear(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """A batch of images in float32 of another `size` [height, width], interpolated linearly.

    `align_corners`: corner pixels keep their places. `half_pixel_centers`: pixels have their centres at
    halves.

    >>> sg.Session().run(sg.image.resize_bilinear(sg.reshape([1.0, 2.0], [1, 1, 2, 1]), [1, 4])[0, 0, :, 0])
    array([1. , 1.5, 2. , 2. ], dtype=float32)
    """
    return ops.resize_bilinear(
        images, size=size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_nearest_neighbor(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """A batch of images of another `size`, each pixel a copy of an old one; see `resize_bilinear`.

    >>> y = sg.image.resize_nearest_neighbor(sg.reshape([1.0, 2.0], [1, 1, 2, 1]), [1, 4])[0, 0, :, 0]
    >>> sg.Session().run(y)
    array([1., 1., 2., 2.], dtype=float32)
    """
    return ops.resize_nearest_neighbor(
        images, size=size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_bicubic(
    images: Any,
    size: Any,
    align_corners: bool = False,
    name: str | None = None,
    half_pixel_centers: bool = False,
) -> Tensor:
    """A batch of images of another `size`, interpolated with cubic functions; see `resize_bilinear`."""
    return ops.resize_bicubic(
        images, size=size, align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Tensor:
    """A batch of images in float32 of another `size`, each pixel the mean of the area that it covers.

    >>> y = sg.image.resize_area(sg.reshape([1.0, 2.0, 3.0, 6.0], [1, 1, 4, 1]), [1, 2])[0, 0, :, 0]
    >>> sg.Session().run(y)
    array([1.5, 4.5], dtype=float32)
    """
    return ops.resize_area(images, size=size, align_corners=align_corners, name=name)


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """An image, or a batch, of another `size` [height, width].

    `method`: one of `ResizeMethod`, or 'bilinear', 'nearest', 'bicubic', 'area'. `align_corners`: corner
    pixels keep their places. `preserve_aspect_ratio`: height and width change by one factor, the greatest
    with which the image fits in `size`. The result is float32, but of the images' own type for the nearest
    neighbour, and where they have that size already. ValueError for another method or another rank.

    >>> import staticgraph as sg
    >>> photo = sg.placeholder(sg.uint8, [None, None, 3])
    >>> sg.image.resize_images(photo, [224, 224])
    <sg.Tensor 'resize/Squeeze:0' shape=(224, 224, 3) dtype=float32>
    """
    with name_scope(name, "resize", [images, size]):
        with checked("resize_images"):
            op: Any = _METHODS.get(_NAMES.get(method, -1) if isinstance(method, str) else method)
            require(
                op is not None,
                f"there is no method {method!r}",
                hint="see sg.image.ResizeMethod",
            )
            require(
                not isinstance(images, Tensor) or images.type.rank is not None,
                "the rank of the images must be known",
                hint="give the placeholder a shape, or use set_shape",
            )
        assert op is not None
        images = as_image(images, "resize_images")
        size = convert_to_tensor(size, dtype=int32, name="size")
        with checked("resize_images"):
            fits = compatible(size.type.shape, (2,))
            require(fits, f"size has shape {size.shape}", hint="it is [height, width]")
        if preserve_aspect_ratio:
            size = _fitting(images, size)
        if images.type.shape is not None and static_value(size) == images.type.shape[-3:-1]:
            return snapshot(images)
        if images.type.rank == 4:
            return op(images, size=size, align_corners=align_corners)
        made = op(ops.expand_dims(images, axis=0), size=size, align_corners=align_corners)
        return ops.squeeze(made, axis=(0,))


def _fitting(images: Tensor, size: Tensor) -> Tensor:
    """The largest size within `size` that has the proportions of the images."""
    sizes, wanted = height_and_width(images), static_value(size)
    if wanted is not None and is_known(*sizes):
        factor = min(np.float32(new) / np.float32(old) for new, old in zip(wanted, sizes, strict=True))
        scaled = [int(np.rint(factor * np.float32(old))) for old in sizes]
        return convert_to_tensor(scaled, dtype=int32, name="size")
    old = ops.cast(ops.stack(list(sizes)), dtype=float32)
    smallest = ops.reduce_min(ops.cast(size, dtype=float32) / old)
    return ops.cast(ops.round(old * smallest), dtype=int32)


def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Tensor:
    """Images scaled until they just fit in the target size, in the middle of it; what is left over is 0.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 60, 40, 3])
    >>> sg.image.resize_image_with_pad(x, 32, 32).shape.as_list()
    [None, 32, 32, 3]
    """
    with name_scope(None, "resize_image_with_pad", [image]):
        image = as_image(image, "resize_image_with_pad")
        with checked("resize_image_with_pad"):
            for name, n in (("target_height", target_height), ("target_width", target_width)):
                require(not is_known(n) or n > 0, f"{name} is {n}, and must be positive")
        old = [_exact(n) for n in height_and_width(image)]
        new = [_exact(n) for n in (target_height, target_width)]
        ratio = larger(old[1] / new[1], old[0] / new[0])
        scaled = [n / ratio for n in old]
        resized = resize_images(image, [_floor(n) for n in scaled], method, align_corners)
        top, left = (larger(0, _floor((n - part) / 2)) for n, part in zip(new, scaled, strict=True))
        return pad_to_bounding_box(resized, top, left, target_height, target_width)


def _exact(n: Size) -> Any:
    return float(n) if is_known(n) else ops.cast(n, dtype=float64)


def _floor(x: Any) -> Size:
    return int(x // 1) if is_known(x) else ops.cast(ops.floor(x), dtype=int32)
