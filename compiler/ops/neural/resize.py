"""Images resized. Each axis by itself: a new pixel is a weighted sum of a few old ones, whose numbers and
weights are known as soon as the sizes are.

TensorFlow rounds positions to float32 before it takes their floor, so they are computed in float32 here too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, REAL, DType, float32, float64, int32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import OpDef, ops
from staticgraph.compiler.graph.shapes import TensorType, shape_text
from staticgraph.compiler.graph.sizes import at_least, is_open, positive, same
from staticgraph.compiler.ops.arrays.creation import positions
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.samples import Sample, real
from staticgraph.compiler.support.dataclass import dataclass

LARGEST_IMAGE = 1 << 16  # pixels along an axis of a result
_GATHERED = 4  # old pixels per new one, up to which they are gathered; more are a product with a matrix
_TABLE = 1024  # TensorFlow rounds the fraction of a cubic position to such parts


@dataclass(frozen=True, slots=True)
class Taps:
    """The old pixels of each new one along an axis: `numbers` and `weights`, of shape [new, taps]."""

    numbers: np.ndarray
    weights: np.ndarray

    def matrix(self, size: int) -> np.ndarray:
        """The same as a matrix of shape [new, size]."""
        out = np.zeros((len(self.numbers), size), np.float32)
        np.add.at(out, (np.arange(len(self.numbers))[:, None], self.numbers), self.weights)
        return out


@dataclass(frozen=True, slots=True)
class ResizedAxis:
    """One axis: its old size, its new one, and where the centres of new pixels lie among the old ones."""

    old: int
    new: int
    align_corners: bool
    half_pixel_centers: bool

    @property
    def step(self) -> np.float32:
        """The distance between new pixels, in old ones."""
        if self.align_corners and self.new > 1:
            return np.float32(self.old - 1) / np.float32(self.new - 1)
        return np.float32(self.old) / np.float32(self.new)

    def positions(self) -> np.ndarray:
        places = np.arange(self.new, dtype=np.float32)
        if self.half_pixel_centers:
            return (places + np.float32(0.5)) * self.step - np.float32(0.5)
        return places * self.step

    def within(self, numbers: np.ndarray) -> np.ndarray:
        return np.clip(numbers, 0, self.old - 1).astype(np.int32)


def _nearest(axis: ResizedAxis) -> Taps:
    places = np.arange(axis.new, dtype=np.float32)
    places = (places + np.float32(0.5)) * axis.step if axis.half_pixel_centers else places * axis.step
    rounded = np.floor(places + np.float32(0.5)) if axis.align_corners else np.floor(places)
    numbers = axis.within(rounded)[:, None]
    return Taps(numbers, np.ones(numbers.shape, np.float32))


def _linear(axis: ResizedAxis) -> Taps:
    places = axis.positions()
    low = np.floor(places)
    share = places - low
    numbers = np.stack([axis.within(low), axis.within(np.ceil(places))], axis=1)
    return Taps(numbers, np.stack([1 - share, share], axis=1))


def _cubic(axis: ResizedAxis) -> Taps:
    """Keys' kernel, with a = -0.5 where pixels have their centres at halves, and TensorFlow's -0.75 else.

    With centres at halves, pixels outside of the image count for nothing; else those at the edge stand in.
    """
    places = axis.positions()
    low = np.floor(places)
    share = np.rint((places - low) * np.float32(_TABLE)) / _TABLE
    a = -0.5 if axis.half_pixel_centers else -0.75
    near = [((a + 2) * x - (a + 3)) * x * x + 1 for x in (share, 1 - share)]
    far = [((a * x - 5 * a) * x + 8 * a) * x - 4 * a for x in (1 + share, 2 - share)]
    weights = np.stack([far[0], near[0], near[1], far[1]], axis=1).astype(np.float32)
    wanted = low[:, None] + np.arange(-1, 3)
    numbers = axis.within(wanted)
    if axis.half_pixel_centers:
        weights = np.where(numbers == wanted, weights, np.float32(0))
        weights /= weights.sum(axis=1, keepdims=True)
    return Taps(numbers, weights)


def _area(axis: ResizedAxis) -> Taps:
    """Each old pixel counts by the part of it that a new one covers."""
    if axis.step == 0:  # one pixel between aligned corners: new ones lie at it, and have no extent
        return _nearest(axis)
    starts = np.arange(axis.new, dtype=np.float32) * axis.step
    ends = np.arange(1, axis.new + 1, dtype=np.float32) * axis.step
    first = np.floor(starts)
    taps = int(np.max(np.ceil(ends) - first, initial=1))
    wanted = first[:, None] + np.arange(taps, dtype=np.float32)
    covered = np.minimum(wanted + 1, ends[:, None]) - np.maximum(wanted, starts[:, None])
    weights = np.maximum(covered, 0) / axis.step
    return Taps(axis.within(wanted), weights.astype(np.float32))


def _axes(
    sizes: tuple[int, ...], new: Any, align_corners: bool, half_pixel_centers: bool
) -> list[ResizedAxis]:
    pairs = zip(sizes, new, strict=True)
    return [ResizedAxis(old, n, align_corners, half_pixel_centers) for old, n in pairs]


def _along(x: Any, axis: int, taps: Taps) -> Any:
    """Weighted sums along the axis 1 or 2.

    Gathered pixels are added as differences from the first, so that equal pixels give exactly their value.
    """
    parts = taps.numbers.shape[1]
    if parts > _GATHERED:
        equation = "ph,nhwc->npwc" if axis == 1 else "qw,nhwc->nhqc"
        return ops.einsum([taps.matrix(x.shape[axis]), x], equation=equation)
    first, *others = (ops.gather(x, taps.numbers[:, k], axis=axis) for k in range(parts))
    total = first
    for k, other in enumerate(others, 1):
        weight = taps.weights[:, k].reshape((-1, 1, 1) if axis == 1 else (-1, 1))
        total = total + (other - first) * weight
    return total


# For sizes that are open, the same in operations


def _open_along(x: Any, number: int, axis: ResizedAxis, taps: Callable[[ResizedAxis], Taps]) -> Any:
    """`_along` for an axis of which the old or the new size is open."""
    if taps is _area:
        equation = "ph,nhwc->npwc" if number == 1 else "qw,nhwc->nhqc"
        return ops.einsum([_covered(x, axis), x], equation=equation)
    found = _OPEN_TAPS[taps](_Operations(x, axis))
    shape = (-1, 1, 1) if number == 1 else (-1, 1)
    (place, _), *others = found
    total = first = ops.gather(x, place, axis=number)
    for place, weight in others:
        total = total + (ops.gather(x, place, axis=number) - first) * ops.reshape(weight, shape=shape)
    return total


class _Operations:
    """The numbers of an axis as tensors.

    Products are rounded to float32 one by one: they are computed in float64, in which they are exact.
    """

    def __init__(self, x: Any, axis: ResizedAxis) -> None:
        self.axis, self._constant = axis, x.recorder.constant
        self.numbers = positions(x, axis.new, float32)
        self.step = ops.cast(self._quotient(), dtype=float32)

    def _quotient(self) -> Any:
        """The step in float64. One new pixel has no corners to align: it covers all old ones."""
        axis, constant = self.axis, self._constant
        whole = constant(axis.old, float64) / constant(axis.new, float64)
        if not axis.align_corners or same(axis.new, 1):
            return whole
        gaps = constant(at_least(axis.old - 1, 0), float64) / constant(positive(axis.new - 1), float64)
        if not is_open((axis.new,)):
            return gaps
        return ops.select(ops.equal(constant(axis.new, float64), 1.0), whole, gaps)

    def times_step(self, numbers: Any) -> Any:
        product = ops.cast(numbers, dtype=float64) * ops.cast(self.step, dtype=float64)
        return ops.cast(product, dtype=float32)

    def positions(self) -> Any:
        if self.axis.half_pixel_centers:
            return self.times_step(self.numbers + 0.5) - 0.5
        return self.times_step(self.numbers)

    def within(self, numbers: Any) -> Any:
        last = self._constant(at_least(self.axis.old - 1, 0), int32)
        return ops.minimum(ops.maximum(ops.cast(numbers, dtype=int32), 0), last)


_OpenTaps = list[tuple[Any, Any]]  # places and weights, of which the first one is not used


def _open_nearest(of: _Operations) -> _OpenTaps:
    places = of.times_step(of.numbers + 0.5 if of.axis.half_pixel_centers else of.numbers)
    return [(of.within(ops.floor(places + 0.5) if of.axis.align_corners else ops.floor(places)), None)]


def _open_linear(of: _Operations) -> _OpenTaps:
    places = of.positions()
    low = ops.floor(places)
    return [(of.within(low), None), (of.within(ops.ceil(places)), places - low)]


def _open_cubic(of: _Operations) -> _OpenTaps:
    places = of.positions()
    low = ops.floor(places)
    share = ops.rint((places - low) * float(_TABLE)) / float(_TABLE)
    a = -0.5 if of.axis.half_pixel_centers else -0.75
    near = [((a + 2) * x - (a + 3)) * x * x + 1 for x in (share, 1 - share)]
    far = [((a * x - 5 * a) * x + 8 * a) * x - 4 * a for x in (1 + share, 2 - share)]
    weights = [far[0], near[0], near[1], far[1]]
    found = [(of.within(low + float(k)), low + float(k)) for k in range(-1, 3)]
    if of.axis.half_pixel_centers:
        kept = [ops.equal(ops.cast(number, dtype=float32), wanted) for number, wanted in found]
        weights = [ops.select(k, w, 0.0) for k, w in zip(kept, weights, strict=True)]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [w / total for w in weights]
    return [(number, weight) for (number, _), weight in zip(found, weights, strict=True)]


def _covered(x: Any, axis: ResizedAxis) -> Any:
    """The weights of old pixels by area, of shape [new, old]."""
    of = _Operations(x, axis)
    old = ops.reshape(positions(x, axis.old, float32), shape=(1, axis.old))
    starts, ends = (
        ops.reshape(of.times_step(n), shape=(axis.new, 1)) for n in (of.numbers, of.numbers + 1.0)
    )
    is_last = ops.equal(old, at_least(axis.old - 1, 0))  # it stands in for what is beyond it
    until = ops.select(is_last, ends, ops.minimum(old + 1.0, ends))
    covered = ops.maximum(until - ops.maximum(old, starts), 0.0)
    # One pixel between aligned corners: new ones lie at it, and have no extent.
    return ops.select(ops.greater(of.step, 0.0), covered / of.step, 1.0)


_OPEN_TAPS: dict[Callable[[ResizedAxis], Taps], Callable[[_Operations], _OpenTaps]] = {
    _nearest: _open_nearest, _linear: _open_linear, _cubic: _open_cubic,
}  # fmt: skip


def _resampled(
    taps: Callable[[ResizedAxis], Taps], images: Any, size: Any, align: bool, half: bool = False
) -> Any:
    height, width = _axes(images.shape[1:3], size, align, half)
    images = images if taps is _nearest else ops.cast(images, dtype=float32)
    for number, axis in ((2, width), (1, height)):  # columns first, as TensorFlow does
        if is_open((axis.old, axis.new)):
            images = _open_along(images, number, axis, taps)
        else:
            images = _along(images, number, taps(axis))
    return images


def _reference(taps: Callable[[ResizedAxis], Taps]) -> Callable[..., np.ndarray]:
    def run(
        images: np.ndarray, size: Any, align_corners: bool, half_pixel_centers: bool = False
    ) -> np.ndarray:
        axes = _axes(images.shape[1:3], size, align_corners, half_pixel_centers)
        if taps is _nearest:
            rows, columns = (taps(axis).numbers[:, 0] for axis in axes)
            return images[:, rows][:, :, columns]
        rows, columns = (taps(axis).matrix(axis.old).astype(np.float64) for axis in axes)
        return np.einsum("ph,nhwc,qw->npqc", rows, images.astype(np.float64), columns).astype(np.float32)

    return run


def _type_rule(result: DType | None) -> Callable[..., TensorType]:
    def rule(images: TensorType, size: Any, **_: Any) -> TensorType:
        require(
            images.rank in (None, 4),
            f"images have shape {shape_text(images.shape)}, and must be [batch, height, width, channels]",
        )
        height, width = size if size is not None else (None, None)
        fits = all(n is None or 0 < n <= LARGEST_IMAGE for n in (height, width))
        require(fits, f"size is {size}, and must be 1 to {LARGEST_IMAGE}")
        batch, *sizes, channels = images.shape if images.shape is not None else (None,) * 4
        require(0 not in sizes, f"images of shape {shape_text(images.shape)} have no pixels")
        return TensorType(result or images.dtype, (batch, height, width, channels))

    return rule


def _declared(taps: Callable[[ResizedAxis], Taps], tf: str, **fields: Any) -> Callable[[Any], OpDef]:
    nearest = taps is _nearest
    uses: list[dict[str, Any]] = [{"size": (2, 3)}, {"size": (7, 1)}, {"size": (4, 9), "align_corners": True}]
    if taps is not _area:
        uses.append({"size": (9, 2), "half_pixel_centers": True})
    return composite(
        tf=tf,
        type=_type_rule(None if nearest else float32),
        numpy=_reference(taps),
        dtypes=ANY if nearest else REAL,
        operands=("size",),
        partial=("size",),
        samples=[Sample(real(2, 4, 5, 2), **attrs) for attrs in uses],
        **fields,
    )


@_declared(_nearest, "ResizeNearestNeighbor")
def resize_nearest_neighbor(
    images: Any, *, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    """Images of another size, each new pixel a copy of the old one at its place.

    `align_corners`: corner pixels keep their places. `half_pixel_centers`: pixels have their centres at
    halves.
    """
    return _resampled(_nearest, images, size, align_corners, half_pixel_centers)


@_declared(_linear, "ResizeBilinear")
def resize_bilinear(
    images: Any, *, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    """Images of another size, float32, by linear interpolation between the four old pixels nearest.

    `align_corners`: corner pixels keep their places. `half_pixel_centers`: pixels have their centres at
    halves.
    """
    return _resampled(_linear, images, size, align_corners, half_pixel_centers)


@_declared(_cubic, "ResizeBicubic")
def resize_bicubic(
    images: Any, *, size: Any, align_corners: bool = False, half_pixel_centers: bool = False
) -> Any:
    """Images of another size, float32, by cubic interpolation between the sixteen old pixels nearest.

    `align_corners`: corner pixels keep their places. `half_pixel_centers`: pixels have their centres at
    halves.
    """
    return _resampled(_cubic, images, size, align_corners, half_pixel_centers)


@_declared(_area, "ResizeArea")
def resize_area(images: Any, *, size: Any, align_corners: bool = False) -> Any:
    """Images of another size, float32, each new pixel the mean of the area of old ones that it covers.

    `align_corners`: corner pixels keep their places.
    """
    return _resampled(_area, images, size, align_corners)
