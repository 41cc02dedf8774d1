"""Images turned, mirrored, cropped and padded."""

from __future__ import annotations

from typing import Any

from staticgraph.arrays.array_ops import pad
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.sizes import Size, is_known, larger, smaller
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float64, int32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.calls import snapshot
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.static_value import static_value
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.image.shapes import as_image, checked_image, height_and_width, with_sizes


def mirrored(image: Tensor, axis: int) -> Tensor:
    """The rows (axis -3) or the columns (-2) of images in opposite order."""
    return ops.reverse(image, axis=[axis % len(image.type.shape or ())])


def flip_left_right(image: Any) -> Tensor:
    """Images with their columns in opposite order.

    >>> import staticgraph as sg
    >>> sg.image.flip_left_right(sg.placeholder(sg.float32, [28, 28, 3])).shape.as_list()
    [28, 28, 3]
    """
    with name_scope(None, "flip_left_right", [image]):
        return mirrored(checked_image(image, "flip_left_right"), -2)


def flip_up_down(image: Any) -> Tensor:
    """Images with their rows in opposite order."""
    with name_scope(None, "flip_up_down", [image]):
        return mirrored(checked_image(image, "flip_up_down"), -3)


def _exchanged(image: Tensor) -> Tensor:
    perm = (1, 0, 2) if image.type.rank == 3 else (0, 2, 1, 3)
    return ops.transpose(image, perm=perm)


def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """Images with rows and columns exchanged: [height, width, channels] becomes [width, height, channels]."""
    with name_scope(name, "transpose", [image]):
        return _exchanged(checked_image(image, "transpose"))


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Images turned `k` times by 90 degrees, against the clock.

    `k` may be a tensor where the images are known to be square. ValueError if they are not.

    >>> import staticgraph as sg
    >>> sg.image.rot90(sg.placeholder(sg.float32, [20, 30, 3])).shape.as_list()
    [30, 20, 3]
    """
    with name_scope(name, "rot90", [image]):
        image = checked_image(image, "rot90")
        turns = static_value(k) if isinstance(k, Tensor) else k
        if turns is not None:
            with counted_as(image.graph, 62):  # branches in TensorFlow
                return snapshot(_turned(image, turns % 4))
        height, width = height_and_width(image)
        with checked("rot90"):
            require(
                is_known(height, width) and height == width,
                f"k is not known, so the shape of what becomes of {image.shape} is not known either",
                hint="give k as a number, or the images a square shape",
            )
        turns = ops.floormod(k, 4)
        out = image
        for n in (1, 2, 3):
            out = ops.select(ops.equal(turns, n), _turned(image, n), out)
        return out


def _turned(image: Tensor, times: int) -> Tensor:
    match times:
        case 0:
            return image
        case 1:
            return _exchanged(mirrored(image, -2))
        case 2:
            return mirrored(mirrored(image, -2), -3)
        case _:
            return mirrored(_exchanged(image), -2)


def _checked_sizes(call: str, **conditions: tuple[Any, str]) -> None:
    """Raise a ShapeError if a condition on known sizes does not hold.

    Each condition comes with its message. Conditions that are tensors are
    skipped: the run checks such sizes when it uses them.
    """
    with checked(call):
        for holds, text in conditions.values():
            require(isinstance(holds, Tensor) or bool(holds), text)


def _box(image: Tensor, top: Size, left: Size, height: Size, width: Size) -> Tensor:
    lead = [0] * (len(image.type.shape or ()) - 3)
    begin, size = [*lead, top, left, 0], [*(-1 for _ in lead), height, width, -1]
    return with_sizes(ops.slice(image, begin=begin, size=size), image, height, width)


def _unknown(image: Tensor) -> int:
    """Return how many of height and width are not known."""
    return [size.value for size in image.shape[-3:-1]].count(None)


# Numbers of operations of TensorFlow's functions, which work on batches.


def _on_batches(image: Tensor) -> int:
    """Return the operations that make one image a batch and back."""
    return 3 if image.type.rank == 3 else 0


def _sizes(image: Tensor) -> int:
    """Return the operations that give the sizes of images: a shape, and its parts, unless all are known."""
    return 0 if image.type.is_static else 2


def _cropping(image: Tensor) -> int:
    """Return the operations of a crop: the slice and its two constants, and assertions on open sizes."""
    return _sizes(image) + 3 + 5 * _unknown(image)


def _padding(image: Tensor) -> int:
    """Return the operations that pad: the pad, and its paddings of known numbers, or a pack of them."""
    unknown = _unknown(image)
    return _sizes(image) + 4 + (7 * unknown + 8 - unknown if unknown else 0)


def _cropping_or_padding(image: Tensor) -> int:
    """Return the operations of a crop or a pad, without the check of the image."""
    if image.type.is_static:
        return _on_batches(image) + (1 + 3) + (1 + 4) + 1
    if _unknown(image):
        return (153 if image.type.rank == 3 else 152) + 2 * (image.shape[-1].value is None)
    return 62


def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The box of `target_height` rows and `target_width` columns whose upper left pixel is at the offsets.

    ValueError if it is not inside of the image.

    >>> image = sg.reshape(sg.range(9), [3, 3, 1])
    >>> sg.Session().run(sg.image.crop_to_bounding_box(image, 1, 0, 2, 2)[..., 0])
    array([[3, 4],
           [6, 7]], dtype=int32)
    """
    with name_scope(None, "crop_to_bounding_box", [image]):
        image = checked_image(image, "crop_to_bounding_box")
        with counted_as(image.graph, _on_batches(image) + _cropping(image)):
            height, width = height_and_width(image)
            _checked_sizes(
                "crop_to_bounding_box",
                top=(offset_height >= 0, f"offset_height is {offset_height}, and must not be negative"),
                left=(offset_width >= 0, f"offset_width is {offset_width}, and must not be negative"),
                height=(target_height > 0, f"target_height is {target_height}, and must be positive"),
                width=(target_width > 0, f"target_width is {target_width}, and must be positive"),
                bottom=(
                    height >= target_height + offset_height,
                    f"{target_height} rows from row {offset_height} on are more than {image.shape} has",
                ),
                right=(
                    width >= target_width + offset_width,
                    f"{target_width} columns from column {offset_width} on are more than {image.shape} has",
                ),
            )
            return _box(image, offset_height, offset_width, target_height, target_width)


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The middle of images: this fraction, in (0, 1], of their height and width. ValueError for another one.

    >>> import staticgraph as sg
    >>> sg.image.central_crop(sg.placeholder(sg.float32, [None, 200, 100, 3]), 0.5).shape.as_list()
    [None, 100, 50, 3]
    """
    with name_scope(None, "central_crop", [image]):
        with checked("central_crop"):
            require(0.0 < central_fraction <= 1.0, f"central_fraction is {central_fraction}, not in (0, 1]")
        if central_fraction == 1.0:
            with counted_as(get_default_graph(), 0):
                return snapshot(as_image(image, "central_crop"))
        image = checked_image(image, "central_crop")
        fits = not _unknown(image)
        with counted_as(image.graph, 3 if fits else 35 if image.type.rank == 3 else 37):
            sizes = height_and_width(image)
            top, left = (_outside(n, central_fraction) for n in sizes)
            return _box(image, top, left, sizes[0] - top * 2, sizes[1] - left * 2)


def _outside(n: Size, fraction: float) -> Size:
    """Return the number of rows before the middle `fraction` of n rows."""
    if is_known(n):
        return int((n - n * fraction) / 2)
    wide = ops.cast(n, dtype=float64)
    return ops.cast((wide - wide * fraction) / 2.0, dtype=int32)


def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Images of `target_height` rows and `target_width` columns, 0 but for `image` at the offsets.

    ValueError if it does not fit in.
    """
    with name_scope(None, "pad_to_bounding_box", [image]):
        image = checked_image(image, "pad_to_bounding_box")
        with counted_as(image.graph, _on_batches(image) + _padding(image)):
            height, width = height_and_width(image)
            below, right = target_height - offset_height - height, target_width - offset_width - width
            _checked_sizes(
                "pad_to_bounding_box",
                top=(offset_height >= 0, f"offset_height is {offset_height}, and must not be negative"),
                left=(offset_width >= 0, f"offset_width is {offset_width}, and must not be negative"),
                below=(
                    below >= 0,
                    f"an image {image.shape} at row {offset_height} exceeds {target_height} rows",
                ),
                right=(
                    right >= 0,
                    f"an image {image.shape} at column {offset_width} exceeds {target_width} columns",
                ),
            )
            lead = [[0, 0]] * (len(image.type.shape or ()) - 3)
            paddings = [*lead, [offset_height, below], [offset_width, right], [0, 0]]
            return with_sizes(pad(image, paddings), image, target_height, target_width)


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Images of the target size: what is too large is cut off evenly at both sides, what is missing is 0.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [40, 20, 3])
    >>> sg.image.resize_image_with_crop_or_pad(x, 32, 32).shape.as_list()
    [32, 32, 3]
    """
    call = "resize_image_with_crop_or_pad"
    with name_scope(None, call, [image]):
        image = checked_image(image, call)
        _checked_sizes(
            call,
            height=(target_height > 0, f"target_height is {target_height}, and must be positive"),
            width=(target_width > 0, f"target_width is {target_width}, and must be positive"),
        )
        with counted_as(image.graph, _cropping_or_padding(image)):
            height, width = height_and_width(image)
            more, wider = target_height - height, target_width - width
            cropped = _box(
                image,
                larger(-more // 2, 0),
                larger(-wider // 2, 0),
                smaller(target_height, height),
                smaller(target_width, width),
            )
            return pad_to_bounding_box(
                cropped, larger(more // 2, 0), larger(wider // 2, 0), target_height, target_width
            )
