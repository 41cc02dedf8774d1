"""Boxes in images: cut out, drawn, and drawn at random. A box is [top, left, bottom, right] in parts of the
image's height and width.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from staticgraph.arrays.array_ops import one_of
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
from staticgraph.mathematics.reductions import reduce_max


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
    """Pixels that the outline of each box covers: bool [batch, boxes, height, width]."""

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

    Of `max_attempts` boxes the first that keeps to the limits is taken, and the whole image if none does. The
    boxes are those that TensorFlow draws with the same seeds. As there, the seed of the graph has no effect:
    without seeds, boxes differ from process to process.

    Args:
        image_size: [height, width, channels], int32 or another integer dtype.
        bounding_boxes: The objects, float32 [batch, boxes, 4]: each is [top, left, bottom, right] in [0, 1].
        seed: The first seed. None is 0.
        seed2: The second seed. None is 0.
        min_object_covered: The least part of some object that the box contains. Default 0.1.
        aspect_ratio_range: The least and the greatest width / height. Default (0.75, 1.33).
        area_range: The least and the greatest part of the image's area. Default (0.05, 1.0).
        max_attempts: The number of boxes that are tried, at most 100,000. Default 100.
        use_image_if_no_bounding_boxes: True if the image is the object if there are no boxes. Default False.
        name: The name of a scope for the operation.

    Returns:
        `begin` and `size`, of the dtype of `image_size`, for `slice`, and `bboxes` [1, 1, 4] for
        `draw_bounding_boxes`.

    Raises:
        ValueError: A shape or a range is wrong.
        InvalidArgumentError: In a run: a box is not in [0, 1], or there are none, and the image is not one.

    >>> import staticgraph as sg
    >>> begin, size, box = sg.image.sample_distorted_bounding_box([32, 32, 3], sg.zeros([1, 0, 4]),
    ...                                                           use_image_if_no_bounding_boxes=True)
    >>> sg.slice(sg.zeros([32, 32, 3]), begin, size).shape.as_list()
    [None, None, None]
    """
    with name_scope(name, "sample_distorted_bounding_box", [image_size, bounding_boxes]):
        made = ops.sample_distorted_bounding_box(
            convert_to_tensor(image_size, name="image_size"),
            convert_to_tensor(bounding_boxes, dtype=float32, name="bounding_boxes"),
            convert_to_tensor(min_object_covered, dtype=float32, name="min_object_covered"),
            seed=seed or 0,
            seed2=seed2 or 0,
            aspect_ratio_range=tuple(aspect_ratio_range or (0.75, 1.33)),
            area_range=tuple(area_range or (0.05, 1.0)),
            max_attempts=100 if max_attempts is None else max_attempts,
            use_image_if_no_bounding_boxes=bool(use_image_if_no_bounding_boxes),
        )
        return SampledBox(*made)
