"""Boxes cut out of images and brought to one size: what detectors of objects read their features from."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.checks.requirements import index_in
from staticgraph.compiler.graph.dtypes import REAL, float32, int32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, merge, shape_text
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.neural.resize import LARGEST_IMAGE
from staticgraph.compiler.ops.samples import Draw, Sample, indices, real

_METHODS = ("bilinear", "nearest")


def _type(
    image: TensorType, boxes: TensorType, box_ind: TensorType, crop_size: Any, method: str, **_: Any
) -> TensorType:
    require(image.rank in (None, 4), f"image has shape {shape_text(image.shape)}, and must have four axes")
    require(boxes.rank in (None, 2), f"boxes has shape {shape_text(boxes.shape)}, and must be [boxes, 4]")
    require(box_ind.rank in (None, 1), f"box_ind has shape {shape_text(box_ind.shape)}, and must be a vector")
    require(method in _METHODS, f"method {method!r} is neither 'bilinear' nor 'nearest'")
    require(
        boxes.shape is None or boxes.shape[1] in (4, None),
        f"boxes has shape {shape_text(boxes.shape)}, and must be [boxes, 4]",
    )
    if boxes.shape is not None:
        merge(boxes.shape[:1], box_ind.shape, "the number of boxes and box_ind,")
    require(crop_size is None or len(crop_size) == 2, f"crop_size {crop_size} needs two entries")
    height, width = crop_size if crop_size is not None else (None, None)
    fits = all(n is None or 0 < n <= LARGEST_IMAGE for n in (height, width))
    require(fits, f"crop_size is {crop_size}, not 1 to {LARGEST_IMAGE}")
    count = boxes.shape[0] if boxes.shape is not None else None
    return TensorType(float32, (count, height, width, None if image.shape is None else image.shape[-1]))


def _last(size: Any) -> Any:
    """The number of the last row of an image."""
    return ops.cast(size - 1, dtype=float32)


def _places(low: Any, high: Any, old: int, new: int) -> Any:
    """Return the positions of the rows of a crop among those of the image, of shape [boxes, new]."""
    low, high = (ops.expand_dims(x, axis=1) * _last(old) for x in (low, high))
    if new == 1:
        return (low + high) * 0.5
    return low + (high - low) / float(new - 1) * np.arange(new, dtype=np.float32)


def _reference(
    image: np.ndarray,
    boxes: np.ndarray,
    box_ind: np.ndarray,
    crop_size: Any,
    method: str,
    extrapolation_value: float,
) -> np.ndarray:
    height, width = image.shape[1:3]
    out = np.full((len(boxes), *crop_size, image.shape[3]), extrapolation_value, np.float32)
    for n, (box, number) in enumerate(zip(boxes.astype(np.float64), box_ind, strict=True)):
        rows, columns = (
            (np.linspace(low, high, count) if count > 1 else np.array([(low + high) / 2])) * (old - 1)
            for low, high, count, old in zip(box[:2], box[2:], crop_size, (height, width), strict=True)
        )
        for i, y in enumerate(rows):
            for j, x in enumerate(columns):
                if 0 <= y <= height - 1 and 0 <= x <= width - 1:
                    out[n, i, j] = _pixel(image[number].astype(np.float64), y, x, method)
    return out


def _pixel(image: np.ndarray, y: float, x: float, method: str) -> np.ndarray:
    if method == "nearest":
        return image[int(np.floor(y + 0.5)), int(np.floor(x + 0.5))]
    top, left, bottom, right = (int(f(v)) for f in (np.floor, np.ceil) for v in (y, x))
    upper = image[top, left] + (image[top, right] - image[top, left]) * (x - left)
    lower = image[bottom, left] + (image[bottom, right] - image[bottom, left]) * (x - left)
    return upper + (lower - upper) * (y - top)


_BOXES = Draw((3, 4), -0.2, 1.2, dtype="float32")


@composite(
    tf="CropAndResize", type=_type, numpy=_reference, dtypes={"T": REAL},
    vars={"boxes": "float32", "box_ind": "int32"}, operands=("crop_size",), partial=("crop_size",),
    differentiable=(0, 1),
    requires=index_in("crop_and_resize", "box_ind", 2, lambda image, boxes, box_ind, **_: image.shape[0]),
    samples=[Sample(real(2, 4, 5, 2), _BOXES, indices(3, below=2), crop_size=(2, 3)),
             Sample(real(2, 4, 5, 2), _BOXES, indices(3, below=2), crop_size=(1, 4), extrapolation_value=7.0),
             Sample(real(1, 3, 3, 1), _BOXES, indices(3, below=1), crop_size=(5, 5), method="nearest")],
)
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any,
    *,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Any:
    """Crops of one size, float32 [boxes, height, width, channels].

    A box is [top, left, bottom, right] in parts of the image's height and width, each less one pixel;
    `box_ind` says which image of the batch it is cut from, and `crop_size` is the height and width of crops.
    Pixels are interpolated with `method`, 'bilinear' or 'nearest'; outside of the image they are
    `extrapolation_value`.
    """
    count, (height, width, channels) = boxes.shape[0], image.shape[1:]
    top, left, bottom, right = (boxes[:, i] for i in range(4))
    ys = ops.reshape(_places(top, bottom, height, crop_size[0]), shape=(count, crop_size[0], 1))
    xs = ops.reshape(_places(left, right, width, crop_size[1]), shape=(count, 1, crop_size[1]))
    pixels = ops.reshape(ops.cast(image, dtype=float32), shape=(-1, channels))
    first = ops.reshape(box_ind, shape=(count, 1, 1)) * ops.cast(height * width, dtype=int32)

    row = ops.cast(width, dtype=int32)

    def within(places: Any, size: int) -> Any:
        return ops.cast(ops.minimum(ops.maximum(places, 0.0), _last(size)), dtype=int32)

    def at(rows: Any, columns: Any) -> Any:
        return ops.gather(pixels, first + within(rows, height) * row + within(columns, width), axis=0)

    if method == "nearest":
        value = at(ops.floor(ys + 0.5), ops.floor(xs + 0.5))
    else:
        down, across = (ops.expand_dims(places - ops.floor(places), axis=3) for places in (ys, xs))
        upper, lower = (
            left_one + (at(rows, ops.ceil(xs)) - left_one) * across
            for rows in (ops.floor(ys), ops.ceil(ys))
            for left_one in [at(rows, ops.floor(xs))]
        )
        value = upper + (lower - upper) * down
    inside = ops.logical_and(
        ops.logical_and(ops.greater_equal(ys, 0.0), ops.less_equal(ys, _last(height))),
        ops.logical_and(ops.greater_equal(xs, 0.0), ops.less_equal(xs, _last(width))),
    )
    return ops.select(ops.expand_dims(inside, axis=3), value, extrapolation_value)
