"""Resize and Upsample: each axis by itself, an element being a weighted sum of a few of the input's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import bool_, int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.formats.onnx.errors import OnnxError, UnknownValueError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, constant, reshape, select, wide


@dataclass(frozen=True, slots=True)
class Axis:
    """Resizing of one axis. `region` is the part of the input that is used, from 0 to 1."""

    length: int
    count: int
    scale: float
    region: tuple[float, float] = (0.0, 1.0)

    def places(self, how: str) -> np.ndarray:
        """Return the coordinate in the input of each element of the output."""
        at = np.arange(self.count, dtype=np.float64)
        whole = self.scale * self.length
        match how:
            case "half_pixel":
                return (at + 0.5) / self.scale - 0.5
            case "half_pixel_symmetric":
                return self.length / 2 * (1 - self.count / whole) + (at + 0.5) / self.scale - 0.5
            case "pytorch_half_pixel":
                return np.full_like(at, -0.5) if whole == 1 else (at + 0.5) / self.scale - 0.5
            case "asymmetric":
                return at / self.scale
            case "align_corners":
                return np.zeros_like(at) if whole == 1 else at * (self.length - 1) / (whole - 1)
            case "tf_half_pixel_for_nn":
                return (at + 0.5) / self.scale
            case "tf_crop_and_resize":
                first, last = (each * (self.length - 1) for each in self.region)
                return first + (
                    (last - first) / 2 + 0 * at if whole == 1 else at * (last - first) / (whole - 1)
                )
        raise OnnxError(f"coordinate_transformation_mode {how!r} does not exist")


def _linear(x: np.ndarray) -> np.ndarray:
    return np.clip(1 - np.abs(x), 0, 1)


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys' kernel: a piecewise cubic of width four."""
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


@operator("Resize")
def _resize(
    node: Node,
    x: Tensor,
    first: Tensor | None = None,
    scales: Tensor | None = None,
    count: Tensor | None = None,
) -> Tensor:
    if node.version < 11:
        assert first is not None
        return resized(node, x, _by_scales(node, x, node.known(first, "scales"), None), "asymmetric", "floor")
    how = node.get("coordinate_transformation_mode", "half_pixel")
    region = None
    if how == "tf_crop_and_resize":
        if first is None:
            raise OnnxError("it has no roi")
        region = node.known(first, "roi")
    if scales is not None and node.sizes(scales) != (0,):
        axes = _by_scales(node, x, node.known(scales, "scales"), region)
    elif count is not None:
        axes = _by_sizes(node, x, node.ints(count, "sizes"), region)
    else:
        raise OnnxError("it has neither scales nor sizes")
    return resized(node, x, axes, how, node.get("nearest_mode", "round_prefer_floor"))


@operator("Upsample")
def _upsample(node: Node, x: Tensor, scales: Tensor | None = None) -> Tensor:
    given = node.required("scales") if scales is None else node.known(scales, "scales")
    return resized(node, x, _by_scales(node, x, given, None), "asymmetric", "floor")


def _axes(
    node: Node,
    x: Tensor,
    given: Sequence[int],
    scales: Any,
    counts: Sequence[int],
    region: np.ndarray | None,
) -> dict[int, Axis]:
    made = {}
    for i, axis in enumerate(given):
        length, bounds = node.shape(x)[axis], (0.0, 1.0)
        if region is not None:
            bounds = (float(region[i]), float(region[len(given) + i]))
        if length is None:
            if scales[i] == 1:
                continue
            raise UnknownValueError("the sizes of its input must be known along the axes that are resized", x)
        one = Axis(length, counts[i], float(scales[i]), bounds)
        if one.count != length or one.scale != 1 or bounds != (0.0, 1.0):
            made[axis] = one
    return made


def _by_scales(node: Node, x: Tensor, scales: Any, region: np.ndarray | None) -> dict[int, Axis]:
    given = node.axes(node.get("axes"), x)
    lengths = [node.shape(x)[axis] for axis in given]
    counts = [0 if n is None else math.floor(n * float(s)) for n, s in zip(lengths, scales, strict=True)]
    return _axes(node, x, given, scales, counts, region)


def _by_sizes(node: Node, x: Tensor, counts: Sequence[int], region: np.ndarray | None) -> dict[int, Axis]:
    given = node.axes(node.get("axes"), x)
    have = node.sizes(x)
    scales = [n / have[axis] for axis, n in zip(given, counts, strict=True)]
    policy = node.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        common = min(scales) if policy == "not_larger" else max(scales)
        scales = [common] * len(given)
        counts = [int(common * have[axis] + 0.5) for axis in given]
    return _axes(node, x, given, scales, counts, region)


_NEAREST: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "round_prefer_floor": lambda at: np.ceil(at - 0.5),
    "round_prefer_ceil": lambda at: np.floor(at + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def resized(node: Node, x: Tensor, axes: dict[int, Axis], how: str, nearest: str) -> Tensor:
    """`x` resized along some axes."""
    mode = node.get("mode", "nearest")
    dtype = x.dtype
    if mode != "nearest":
        x = cast(x, wide(dtype))
    for axis, one in axes.items():
        places = one.places(how)
        if mode == "nearest":
            found = np.clip(_NEAREST[nearest](places), 0, one.length - 1)
            x = ops.gather(x, constant(found, int64), axis=axis)
        else:
            x = _weighted(node, x, axis, one, places, mode)
        outside = (places < 0) | (places > one.length - 1)
        if how == "tf_crop_and_resize" and outside.any():
            shape = [1] * node.rank(x)
            shape[axis] = one.count
            beyond = reshape(constant(outside, bool_), shape)
            x = select(beyond, constant(node.get("extrapolation_value", 0.0), x), x)
    return cast(x, dtype)


def _weighted(node: Node, x: Tensor, axis: int, one: Axis, places: np.ndarray, mode: str) -> Tensor:
    """Sums of neighbours; those beyond the ends are the elements at the ends."""
    if mode not in ("linear", "bilinear", "cubic"):
        raise OnnxError(f"mode {mode!r} does not exist")
    shrunk = min(one.scale, 1.0) if node.get("antialias") else 1.0
    reach = math.ceil((2 if mode == "cubic" else 1) / shrunk)
    taps = np.floor(places)[:, None] + np.arange(1 - reach, reach + 1)
    far = (taps - places[:, None]) * shrunk
    weights = _cubic(far, node.get("cubic_coeff_a", -0.75)) if mode == "cubic" else _linear(far)
    if node.get("exclude_outside"):
        weights = np.where((taps < 0) | (taps >= one.length), 0, weights)
    weights = weights / weights.sum(axis=1, keepdims=True)
    shape = [1] * (node.rank(x) + 1)
    shape[axis : axis + 2] = weights.shape
    near = ops.gather(x, constant(np.clip(taps, 0, one.length - 1), int64), axis=axis)
    return ops.reduce_sum(near * constant(weights.reshape(shape), x), axis=(axis + 1,))
