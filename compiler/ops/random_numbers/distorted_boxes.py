"""A box at random in an image, for crops that augment training data, with the stream of TensorFlow 1.15.

Crops are tried one after the other. Each draws an aspect ratio, a height if the area leaves a choice, and a
place. The first one that keeps to the limits of area, and covers enough of some object, is the result. If
none does, the result is the whole image.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import (
    DType,
    bool_,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint32,
)
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import Kind, ops
from staticgraph.compiler.graph.shapes import TensorType, shape_text
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr, Local
from staticgraph.compiler.kernel.stmt import If, Let, Loop, Store, Update, While
from staticgraph.compiler.ops.kinds import Described, Out, View, composite
from staticgraph.compiler.ops.random_numbers import philox
from staticgraph.compiler.ops.random_numbers.number_stream import NumberStream, numpy_below, numpy_numbers
from staticgraph.compiler.ops.random_numbers.random import STATE, drawn
from staticgraph.compiler.ops.samples import Draw, Sample
from staticgraph.compiler.ops.statements.strips import Body, Fresh, whole

_HALF = 0.5 - float(np.float32(1e-7))  # rounds to the integer that TensorFlow's limit of heights does

_OF = {"of": "sample_distorted_bounding_box"}
_SIZES = frozenset({uint8, int8, int16, int32, int64})
_MOST_ATTEMPTS = 100_000  # so that a file that is read cannot take time without end
_LARGEST = 2**31  # of an image's height and width: TensorFlow draws places as 32-bit integers
_NO_BOXES = "there are no bounding boxes, and use_image_if_no_bounding_boxes is not True"


def _limits(ratios: Any, areas: Any, max_attempts: int) -> None:
    """Raise an error unless the limits of a crop can be met."""
    for name, pair in (("aspect_ratio_range", ratios), ("area_range", areas)):
        numbers = len(pair) == 2 and all(math.isfinite(n) and n > 0 for n in pair)
        require(numbers, f"{name} is {tuple(pair)}, and must be two positive numbers")
    require(max(areas) <= 1, f"area_range is {tuple(areas)}, and is a part of the image's area, at most 1")
    enough = 0 < max_attempts <= _MOST_ATTEMPTS
    require(enough, f"max_attempts is {max_attempts}, and must be positive and at most {_MOST_ATTEMPTS}")


def _require_shapes(size: TensorType, boxes: TensorType, part: TensorType) -> None:
    """Raise an error unless these can be an image's size, boxes in it and a part of one."""
    text = f"image_size has shape {shape_text(size.shape)}, and is [height, width, channels]"
    require(size.shape in (None, (None,), (3,)), text)
    fits = boxes.shape is None or (boxes.rank == 3 and boxes.shape[-1] in (4, None))
    require(fits, f"bounding_boxes have shape {shape_text(boxes.shape)}, and must be [batch, boxes, 4]")
    text = f"min_object_covered has shape {shape_text(part.shape)}, and is one number"
    require(part.rank in (0, None), text)


def _type(
    *types: TensorType, aspect_ratio_range: Any, area_range: Any, max_attempts: int,
    use_image_if_no_bounding_boxes: bool, **_: Any,
) -> tuple[TensorType, ...]:  # fmt: skip
    size, boxes, part = types[-3:]
    _require_shapes(size, boxes, part)
    none = any(same(n, 0) for n in boxes.shape or ())
    hint = "use_image_if_no_bounding_boxes=True takes the whole image as the object"
    require(use_image_if_no_bounding_boxes or not none, _NO_BOXES, hint=hint)
    _limits(aspect_ratio_range, area_range, max_attempts)
    return TensorType(size.dtype, (3,)), TensorType(size.dtype, (3,)), TensorType(float32, (1, 1, 4))


def _possible_type(size: TensorType, boxes: TensorType, part: TensorType, **_: Any) -> TensorType:
    _require_shapes(size, boxes, part)
    return TensorType(bool_, ())


def _unusable(size: np.ndarray, boxes: np.ndarray, part: np.ndarray, needed: bool, of: str) -> str:
    for name, n in zip(("height", "width"), size.tolist(), strict=False):
        if not 0 < n < _LARGEST:
            return f"{of}: the image's {name} is {n}, and must be positive and below {_LARGEST}"
    if not part >= 0:
        return f"{of}: min_object_covered must be non-negative, and is {part}"
    wrong = ~((boxes >= 0) & (boxes <= 1))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        return f"{of}: bounding_boxes{list(place)} = {boxes[place]} is not in [0.0, 1.0]"
    return f"{of}: {_NO_BOXES}"


def _numpy_usable(size: np.ndarray, boxes: np.ndarray, part: np.ndarray, needed: bool, of: str) -> np.bool_:
    inside = ((boxes >= 0) & (boxes <= 1)).all() and all(0 < n < _LARGEST for n in size.tolist()[:2])
    return np.bool_(inside and part >= 0 and (boxes.size > 0 or not needed))


def _usable_sample(
    size: tuple[int, ...], boxes: tuple[int, int], low: int, high: int, needed: bool, dtype: str = ""
) -> Sample:
    image = Draw((3,), fixed=size, dtype=dtype)
    part = Draw((), 0, 1, dtype="float32")
    return Sample(image, Draw((*boxes, 4), low, high, dtype="float32"), part, needed=needed, **_OF)


@composite(
    type=_possible_type, numpy=_numpy_usable, violation=_unusable,
    vars={"size": "T", "boxes": "F", "part": "F"}, dtypes={"T": _SIZES, "F": frozenset({float32})},
    differentiable=False,
    samples=[
        _usable_sample((9, 8, 3), (1, 3), 0, 1, True), _usable_sample((9, 8, 3), (2, 1), -1, 2, False),
        _usable_sample((9, 8, 3), (1, 0), 0, 1, True), _usable_sample((0, 8, 3), (1, 2), 0, 1, True),
        _usable_sample((8, 2**40, 3), (1, 0), 0, 1, False, "int64"),
    ],
)  # fmt: skip
def crops_possible(size: Any, boxes: Any, part: Any, *, needed: bool, of: str) -> Any:
    """True if crops can be drawn in an image of `size` that has `boxes`.

    The image has pixels, the coordinates of boxes are in [0, 1], and `part` is not negative. There must be
    a box if one is `needed`.
    """
    sides = ops.cast(size[:2], dtype=int64)
    good = ops.logical_and(ops.reduce_all((sides > 0) & (sides < _LARGEST)), part >= 0.0)
    good = ops.logical_and(good, ops.reduce_all((boxes >= 0.0) & (boxes <= 1.0)))
    return ops.logical_and(good, ops.reduce_any(boxes >= 0.0)) if needed else good


def _requires(_: Any, *values: Any, use_image_if_no_bounding_boxes: bool, **__: Any) -> list[Any]:
    return [ops.crops_possible(*values, needed=not use_image_if_no_bounding_boxes, **_OF)]


class _Crop:
    """The locals of a crop that is being tried, and the statements that draw it."""

    def __init__(self, stream: NumberStream, height: Expr, width: Expr) -> None:
        self.stream, self.height, self.width = stream, height, width
        local = stream.fresh.local
        self.top, self.left = local("top", int64), local("left", int64)
        self.rows, self.columns = local("rows", int64), local("columns", int64)
        self.ratio, self.fits = local("ratio", float32), local("fits", bool_)

    @property
    def area(self) -> Expr:
        return _float(self.rows * self.columns)

    def whole(self, put: type[Let] | type[Update]) -> Body:
        """The statements that take the whole image, as new locals or as updates."""
        zero = Const(0, int64)
        numbers = (zero, zero, self.height, self.width, Const(1.0, float32), Const(False, bool_))
        mine = (self.top, self.left, self.rows, self.columns, self.ratio, self.fits)
        return tuple(put(local, n) for local, n in zip(mine, numbers, strict=True))

    def below(self, target: Local, start: Expr | int, count: Expr) -> Body:
        """The statements that set `target` to `start` and an integer below `count`."""
        many = self.stream.fresh.local("many", uint32)
        value, lets = self.stream.below(many, self.stream.number(4, list))
        put = Update(target, scalar.cast(value, int64) + start)
        return (Let(many, scalar.cast(count, uint32)), *lets, put)

    def sized(self, ratios: Any, areas: Any) -> Body:
        """The statements that draw an aspect ratio and a height, and tell if they fit."""
        low, high = (np.float32(n) for n in ratios)
        unit, lets = self.stream.taken(self.stream.number(4, lambda words: philox.uniform(words, float32)))
        local = self.stream.fresh.local
        least, most = local("least", float32), local("most", float32)
        highest = local("highest", int64)
        height, width = _float(self.height), _float(self.width)
        parts = zip((least, most), areas, strict=True)
        is_wide = _rounded(_float(highest) * self.ratio) > self.width
        widened = (scalar.cast(self.width, float64) + _HALF) / scalar.cast(self.ratio, float64)
        across = Update(self.columns, _rounded(_float(self.rows) * self.ratio))
        inside = (self.area >= least) & (self.area <= most)
        inside &= (self.rows <= self.height) & (self.columns <= self.width)
        return (
            *lets,
            Update(self.ratio, unit * float(high - low) + float(low)),
            *(Let(area, width * float(np.float32(part)) * height) for area, part in parts),
            Update(self.rows, _rounded(scalar.sqrt(least / self.ratio))),
            Let(highest, _rounded(scalar.sqrt(most / self.ratio))),
            If(is_wide, (Update(highest, scalar.cast(widened, int64)),)),
            Update(highest, scalar.minimum(highest, self.height)),
            Update(self.rows, scalar.minimum(self.rows, highest)),
            If(self.rows < highest, self.below(self.rows, self.rows, highest - self.rows + 1)),
            across,
            If(self.area < least, (Update(self.rows, self.rows + 1), across)),
            If(self.area > most, (Update(self.rows, self.rows - 1), across)),
            Update(self.fits, inside & (self.rows > 0) & (self.columns > 0)),
        )  # fmt: skip

    def placed(self) -> Body:
        """The statements that draw the place of a crop that fits."""
        return tuple(
            statement
            for at, n, size in ((self.top, self.rows, self.height), (self.left, self.columns, self.width))
            for statement in (Update(at, Const(0, int64)), If(n < size, self.below(at, 0, size - n)))
        )

    def covers(self, box: tuple[Expr, ...], part: Expr, found: Local) -> Body:
        """The statements that set `found` if the crop has at least `part` of a box."""
        local = self.stream.fresh.local
        y0, x0, y1, x1 = (local(name, int64) for name in ("y", "x", "bottom", "right"))
        area, covered = local("object", float32), local("covered", float32)
        down = scalar.minimum(y1, self.top + self.rows) - scalar.maximum(y0, self.top)
        along = scalar.minimum(x1, self.left + self.columns) - scalar.maximum(x0, self.left)
        overlap = _float(scalar.maximum(down, 0) * scalar.maximum(along, 0))
        return (
            *(Let(edge, n) for edge, n in zip((y0, x0, y1, x1), box, strict=True)),
            Let(area, _float((x1 - x0) * (y1 - y0))),
            Let(covered, overlap / scalar.maximum(area, 1.0)),
            If((area >= 1.0) & (covered >= part), (Update(found, Const(True, bool_)),)),
        )


def _float(x: Expr) -> Expr:
    return scalar.cast(x, float32)


def _rounded(x: Expr) -> Expr:
    return scalar.cast(scalar.rint(x), int64)


def _numpy(
    state: np.ndarray, image_size: np.ndarray, boxes: np.ndarray, part: np.ndarray, *,
    aspect_ratio_range: Any, area_range: Any, max_attempts: int, **_: Any,
) -> tuple[np.ndarray, ...]:  # fmt: skip
    height, width = (int(n) for n in image_size[:2])
    edges = np.array([height, width, height, width], np.float32)
    objects = [tuple((row * edges).astype(np.int64).tolist()) for row in boxes.reshape(-1, 4)]
    objects = objects or [(0, 0, height, width)]
    words = numpy_numbers(state, np.uint32)
    top, left, rows, columns = 0, 0, height, width
    for _attempt in range(max_attempts):
        crop = _numpy_crop(words, height, width, aspect_ratio_range, area_range)
        if crop is not None and any(_numpy_covers(crop, box, part) for box in objects):
            top, left, rows, columns = crop
            break
    corners = np.array([top, left, top + rows, left + columns], np.float32) / edges
    begin, size = (np.array(n).astype(image_size.dtype) for n in ([top, left, 0], [rows, columns, -1]))
    return begin, size, corners.reshape(1, 1, 4)


def _numpy_covers(crop: tuple[int, ...], box: tuple[int, ...], part: Any) -> bool:
    (top, left, rows, columns), (y0, x0, y1, x1) = crop, box
    area = np.float32((y1 - y0) * (x1 - x0))
    down, along = min(y1, top + rows) - max(y0, top), min(x1, left + columns) - max(x0, left)
    return bool(area >= 1 and np.float32(max(down, 0) * max(along, 0)) / area >= part)


def _numpy_crop(
    words: Iterator[int], height: int, width: int, ratios: Any, areas: Any
) -> tuple[int, ...] | None:
    """Return the next crop, [top, left, height, width], or None if it does not keep to the limits."""
    one = np.float32
    low, high = (one(n) for n in ratios)
    ratio = one(next(words) % 2**23 / 2**23) * (high - low) + low
    least, most = (one(n) * one(width) * one(height) for n in areas)

    def across(rows: int) -> int:
        return int(np.rint(one(rows) * ratio))

    rows, highest = (int(np.rint(np.sqrt(area / ratio))) for area in (least, most))
    if across(highest) > width:
        highest = int((width + _HALF) / float(ratio))
    highest = min(highest, height)
    rows = min(rows, highest)
    if rows < highest:
        rows += numpy_below(words, highest - rows + 1, 32)
    rows += int(one(rows * across(rows)) < least)
    rows -= int(one(rows * across(rows)) > most)
    columns = across(rows)
    inside = 0 < rows <= height and 0 < columns <= width
    if not inside or not least <= one(rows * columns) <= most:
        return None
    top = numpy_below(words, height - rows, 32) if rows < height else 0
    left = numpy_below(words, width - columns, 32) if columns < width else 0
    return top, left, rows, columns


def _sample(size: tuple[int, int], boxes: tuple[int, int], dtype: DType = int32, **attrs: Any) -> Sample:
    ratios = attrs.pop("ratios", (0.75, 1.33))
    image = Draw((3,), min(size), max(size), dtype=dtype.name)
    return Sample(
        STATE, image, Draw((*boxes, 4), 0, 1, dtype="float32"), Draw((), 0, 0.4, dtype="float32"),
        **{"aspect_ratio_range": ratios, "area_range": (0.05, 1.0), "max_attempts": 100} | attrs,
        use_image_if_no_bounding_boxes=boxes[1] == 0,
    )  # fmt: skip


@drawn(
    Kind.ROUTINE, tf="SampleDistortedBoundingBoxV2", type=_type, numpy=_numpy, requires=_requires,
    vars={"image_size": "T", "bounding_boxes": "F", "min_object_covered": "F"},
    advance=lambda types, shape, max_attempts, **_: max_attempts,
    dtypes={"T": _SIZES, "F": frozenset({float32})},
    samples=[
        _sample((20, 50), (1, 2), seed=1), _sample((5, 90), (2, 3), int64, seed=2, seed2=5),
        _sample((30, 31), (1, 0), seed=3, area_range=(0.3, 0.4)),
        _sample((8, 100), (1, 1), int16, seed=4, ratios=(0.2, 5.0), max_attempts=7),
    ],
)  # fmt: skip
def sample_distorted_bounding_box(
    outs: tuple[Out, ...], state: View, image_size: View, bounding_boxes: View, min_object_covered: View, *,
    seed: int = 0, seed2: int = 0, aspect_ratio_range: Any = (0.75, 1.33), area_range: Any = (0.05, 1.0),
    max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = False,
) -> Described:  # fmt: skip
    """A box at random in an image of `image_size` that has enough of one of `bounding_boxes` in it.

    The results are `begin` and `size` for `slice`, and the box as [[[top, left, bottom, right]]]. Its width
    divided by its height is in `aspect_ratio_range`, and its part of the image in `area_range`. It is the
    whole image if none of `max_attempts` succeeds. With `use_image_if_no_bounding_boxes`, the image is the
    box if there are none.
    """
    fresh = Fresh()
    stream = NumberStream(state, fresh)
    height, width = fresh.local("height", int64), fresh.local("width", int64)
    crop, part = _Crop(stream, height, width), fresh.local("part", float32)
    tried, found = fresh.local("tried", int64), fresh.local("found", bool_)
    images, count, _ = bounding_boxes.shape

    def box(image: Expr, n: Expr) -> tuple[Expr, ...]:
        sizes = (height, width, height, width)
        parts = (bounding_boxes[image, n, i] * _float(size) for i, size in enumerate(sizes))
        return tuple(scalar.cast(edge, int64) for edge in parts)

    def objects(image: Expr) -> Body:
        return (fresh.each(count, lambda n: crop.covers(box(image, n), part, found), "object"),)

    zero = Const(0, int64)
    any_object = whole(images) * whole(count) > 0
    image = crop.covers((zero, zero, height, width), part, found)
    look = (*crop.placed(), fresh.each(images, objects, "image"), If(~any_object, image))
    attempt = (
        Update(tried, tried + 1),
        *crop.sized(aspect_ratio_range, area_range),
        If(crop.fits, look),
    )
    body = (
        stream.begin(),
        Let(height, scalar.cast(image_size[0], int64)), Let(width, scalar.cast(image_size[1], int64)),
        Let(part, min_object_covered[()]), Let(tried, zero), Let(found, Const(False, bool_)),
        *crop.whole(Let),
        While((tried < max_attempts) & ~found, attempt),
        If(~found, crop.whole(Update)), *_stored(outs, crop),
    )  # fmt: skip
    return Described((Loop(fresh.index("once", 1), body),))


def _stored(outs: tuple[Out, ...], crop: _Crop) -> Body:
    begin, size, box = outs

    def part(n: Expr, of: Expr) -> Expr:
        return _float(n) / _float(of)

    top, left, height, width = crop.top, crop.left, crop.height, crop.width
    bottom, right = top + crop.rows, left + crop.columns
    corners = part(top, height), part(left, width), part(bottom, height), part(right, width)
    zero = Const(0, int64)
    vectors = ((begin, (top, left, zero)), (size, (crop.rows, crop.columns, zero - 1)))
    return (
        *(
            Store(out.buffer, (Const(i, int64),), scalar.cast(n, out.dtype))
            for out, numbers in vectors
            for i, n in enumerate(numbers)
        ),
        *(Store(box.buffer, (zero, zero, Const(i, int64)), n) for i, n in enumerate(corners)),
    )
