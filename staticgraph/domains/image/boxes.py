"""Boxes in images: cut out, drawn, and drawn at random. A box is [top, left, bottom, right] in parts of the
image's height and width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.arrays.array_ops import one_of, stack
from staticgraph.arrays.casts import cast
from staticgraph.arrays.creation import range as numbers
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import counts_as
from staticgraph.building.sizes import size_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32, int32
from staticgraph.compiler.graph.errors import misuse, require
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.reductions import reduce_any, reduce_max
from staticgraph.random_numbers.random_ops import random_uniform

__all__ = ["crop_and_resize", "draw_bounding_boxes", "sample_distorted_bounding_box"]


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Crops of a batch of images, all of one size: float32 [boxes, height, width, channels].

    `boxes` is float32 [boxes, 4]: [0, 0, 1, 1] is the whole image, from the centres of its first pixels to
    those of its last. `box_indices` (int32) says which image each box is cut from. `method` is 'bilinear' or
    'nearest'; pixels outside of the image are `extrapolation_value`.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 32, 32, 3])
    >>> sg.image.crop_and_resize(x, [[0.0, 0.0, 0.5, 0.5]], [0], [14, 14]).shape.as_list()
    [1, 14, 14, 3]
    """
    which = one_of("box_indices", box_indices, "box_ind", box_ind)
    if which is None or crop_size is None:
        raise misuse(TypeError, "crop_and_resize needs box_indices and crop_size")
    return ops.crop_and_resize(
        image,
        boxes,
        which,
        crop_size=crop_size,
        method=method,
        extrapolation_value=float(extrapolation_value),
        name=name,
    )


# Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia; the last number is for opacity.
_PALETTE = np.array(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ],
    np.float32,
)


@counts_as(1, "images", "boxes", "colors")
def draw_bounding_boxes(images: Any, boxes: Any, name: str | None = None, colors: Any = None) -> Tensor:
    """A batch of images with the outlines of `boxes` [batch, boxes, 4] in them, one pixel wide.

    Later boxes cover earlier ones. `colors` [colors, channels] are used in turn; by default there are ten,
    and white for images of one channel.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 32, 32, 3])
    >>> sg.image.draw_bounding_boxes(x, sg.placeholder(sg.float32, [None, 2, 4])).shape.as_list()
    [None, 32, 32, 3]
    """
    with name_scope(name, "DrawBoundingBoxes", [images, boxes]):
        images = convert_to_tensor(images, name="images")
        boxes = convert_to_tensor(boxes, dtype=float32, name="boxes")
        with checked("draw_bounding_boxes"):
            require(images.type.rank == 4, f"images have shape {images.shape}, and must have four axes")
            channels = images.shape[-1].value
            require(channels is not None, "the number of channels must be known")
            require(boxes.type.rank == 3, f"boxes have shape {boxes.shape}, and must be [batch, boxes, 4]")
        outlined = _outlines(boxes, size_of(images, 1), size_of(images, 2))
        order = ops.reshape(numbers(1, size_of(boxes, 1) + 1), shape=(1, -1, 1, 1))
        topmost = reduce_max(ops.select(outlined, order, ops.zeros_like(order)), axis=1)
        if colors is None:
            colors = np.ones((1, 1), np.float32) if channels == 1 else _PALETTE[:, :channels]
        colors = convert_to_tensor(colors, dtype=float32, name="colors")
        which = ops.floormod(ops.maximum(topmost - 1, 0), size_of(colors, 0))
        color = cast(ops.gather(colors, which, axis=0), images.dtype)
        return ops.select(ops.expand_dims(ops.greater(topmost, 0), axis=-1), color, images)


def _outlines(boxes: Tensor, height: Any, width: Any) -> Tensor:
    """Which pixels the outline of each box covers: bool [batch, boxes, height, width]."""

    def edges(low: int, high: int, size: Any) -> tuple[Tensor, Tensor]:
        last = cast(size - 1, float32)
        made = [ops.cast(boxes[:, :, i] * last, dtype=int32) for i in (low, high)]
        return made[0][:, :, None, None], made[1][:, :, None, None]

    (top, bottom), (left, right) = edges(0, 2, height), edges(1, 3, width)
    y = ops.reshape(numbers(height), shape=(1, 1, -1, 1))
    x = ops.reshape(numbers(width), shape=(1, 1, 1, -1))
    between_y = ops.logical_and(ops.greater_equal(y, top), ops.less_equal(y, bottom))
    between_x = ops.logical_and(ops.greater_equal(x, left), ops.less_equal(x, right))
    on_y = ops.logical_or(ops.equal(y, top), ops.equal(y, bottom))
    on_x = ops.logical_or(ops.equal(x, left), ops.equal(x, right))
    return ops.logical_and(ops.logical_and(between_y, between_x), ops.logical_or(on_y, on_x))


class SampledBox(NamedTuple):
    """A box at random: `begin` and `size` for `slice`, and `bboxes` [1, 1, 4] for `draw_bounding_boxes`."""

    begin: Tensor
    size: Tensor
    bboxes: Tensor


@counts_as(1, "image_size", "bounding_boxes", "min_object_covered")
def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Sequence[float] | None = None,
    area_range: Sequence[float] | None = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampledBox:
    """A box at random inside of an image, which contains enough of one of the objects in it.

    `image_size` is [height, width, channels], `bounding_boxes` [batch, boxes, 4] where the objects are. The
    box has an aspect ratio (width / height) from `aspect_ratio_range` (0.75 to 1.33), a part of the image's
    area from `area_range` (0.05 to 1), and contains at least the part `min_object_covered` of some object. Of
    `max_attempts` (100) boxes the first that does is taken, and the whole image where none does. Without any
    object the image is one, if `use_image_if_no_bounding_boxes`. The numbers are not those that TensorFlow
    draws with the same seeds.

    >>> import staticgraph as sg
    >>> begin, size, box = sg.image.sample_distorted_bounding_box([32, 32, 3], sg.zeros([1, 0, 4]),
    ...                                                           use_image_if_no_bounding_boxes=True)
    >>> sg.slice(sg.zeros([32, 32, 3]), begin, size).shape.as_list()
    [None, None, 3]
    """
    ratios = tuple(aspect_ratio_range or (0.75, 1.33))
    areas = tuple(area_range or (0.05, 1.0))
    attempts = 100 if max_attempts is None else max_attempts
    with checked("sample_distorted_bounding_box"):
        require(len(ratios) == 2 and 0 < ratios[0] <= ratios[1], f"aspect_ratio_range is {ratios}")
        require(len(areas) == 2 and 0 < areas[0] <= areas[1] <= 1, f"area_range is {areas}")
        require(attempts > 0, f"max_attempts is {attempts}, and must be positive")
    with name_scope(name, "sample_distorted_bounding_box", [image_size, bounding_boxes]):
        image_size = convert_to_tensor(image_size, name="image_size")
        integer = image_size.dtype
        height, width = (cast(image_size[i], float32) for i in range(2))
        drawn = random_uniform([4, attempts], seed=seed)
        sizes, inside = _sizes_at_random(height, width, drawn[0], drawn[1], ratios, areas)
        top, left = ops.floor(drawn[2] * (height - sizes[0])), ops.floor(drawn[3] * (width - sizes[1]))
        objects = _objects(bounding_boxes, height, width, bool(use_image_if_no_bounding_boxes))
        good = ops.logical_and(inside, _covers(objects, top, left, *sizes, min_object_covered))
        first = ops.argmax(ops.cast(good, dtype=int32), axis=0, output_type=int32)
        found = reduce_any(good)

        def chosen(values: Tensor, otherwise: Any) -> Tensor:
            return ops.select(found, ops.gather(values, first, axis=0), otherwise)

        y, x = chosen(top, 0.0), chosen(left, 0.0)
        rows, columns = chosen(sizes[0], height), chosen(sizes[1], width)
        box = stack([y / height, x / width, (y + rows) / height, (x + columns) / width])
        begin = stack([*(cast(n, integer) for n in (y, x)), 0])
        size = stack([*(cast(n, integer) for n in (rows, columns)), -1])
        return SampledBox(begin, size, box[None, None])


def _sizes_at_random(
    height: Tensor, width: Tensor, by_ratio: Tensor, by_area: Tensor, ratios: Any, areas: Any
) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """Heights and widths of boxes, and which of them keep to the limits after rounding."""
    ratio = ratios[0] + by_ratio * (ratios[1] - ratios[0])
    least, most = (part * height * width for part in areas)
    lowest = ops.rint(ops.sqrt(least / ratio))
    highest = ops.minimum(ops.rint(ops.sqrt(most / ratio)), ops.minimum(height, ops.floor(width / ratio)))
    rows = ops.minimum(lowest + ops.floor(by_area * ops.maximum(highest - lowest + 1.0, 0.0)), highest)
    columns = ops.rint(rows * ratio)
    short = ops.less(rows * columns, least)  # rounding may have cost the least area
    rows = ops.select(short, rows + 1.0, rows)
    columns = ops.select(short, ops.rint(rows * ratio), columns)
    area = rows * columns
    fits = ops.logical_and(ops.less_equal(rows, height), ops.less_equal(columns, width))
    enough = ops.logical_and(ops.greater_equal(area, least), ops.less_equal(area, most))
    return (rows, columns), ops.logical_and(ops.logical_and(fits, enough), ops.greater(area, 0.0))


def _objects(boxes: Any, height: Tensor, width: Tensor, or_image: bool) -> Tensor:
    """The objects in pixels, [objects, 4]; with `or_image` the whole image if there are none."""
    boxes = ops.reshape(convert_to_tensor(boxes, dtype=float32, name="bounding_boxes"), shape=(-1, 4))
    if or_image:
        none = ops.equal(size_of(boxes, 0), 0)
        whole = ops.select(none, np.array([[0, 0, 1, 1]], np.float32), np.zeros((1, 4), np.float32))
        boxes = ops.concat([boxes, whole], axis=0)
    return boxes * stack([height, width, height, width])


def _covers(objects: Tensor, top: Tensor, left: Tensor, rows: Tensor, columns: Tensor, part: Any) -> Tensor:
    """Return True for each box that contains at least `part` of some object: bool [attempts]."""
    y0, x0, y1, x1 = (objects[:, i][:, None] for i in range(4))
    down = ops.minimum(y1, top + rows) - ops.maximum(y0, top)
    across = ops.minimum(x1, left + columns) - ops.maximum(x0, left)
    area = (y1 - y0) * (x1 - x0)
    overlap = ops.maximum(down, 0.0) * ops.maximum(across, 0.0)
    enough = ops.greater_equal(overlap, area * cast(part, float32))
    return reduce_any(ops.logical_and(enough, ops.greater(area, 0.0)), axis=0)
