"""Elements taken from between the elements: at places of a grid, in boxes, by taps that move."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

import numpy as np

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.errors import OnnxError
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.read.convolution import with_bias
from staticgraph.formats.onnx.values import cast, constant, permuted, reshape, select
from staticgraph.formats.onnx.windows import windows


def _numbers(x: Tensor, *values: float) -> list[Tensor]:
    return [constant(value, x) for value in values]


def sampled(images: Tensor, batch: Tensor, taps: Sequence[Sequence[tuple[Tensor, Tensor]]]) -> Tensor:
    """Sums over the combinations of taps, which are a place and a weight along each axis.

    `images` [batch, *space, channels]; everything else has the shape of the result without channels.
    """
    total: Tensor | None = None
    for combination in itertools.product(*taps):
        index = ops.stack([batch, *(cast(place, int64) for place, _ in combination)], axis=-1)
        found = ops.gather_nd(images, index)
        weight = functools.reduce(ops.multiply, [w for _, w in combination])
        part = found * ops.expand_dims(weight, axis=-1)
        total = part if total is None else total + part
    assert total is not None
    return total


# GridSample


def _clamped(place: Tensor, high: float) -> Tensor:
    first, last = _numbers(place, 0, high)
    return ops.maximum(first, ops.minimum(last, place))


def _reflected(place: Tensor, low: float, high: float) -> Tensor:
    """A place beyond an end lies as far before it, and so on."""
    width = high - low
    if width <= 0:
        return ops.zeros_like(place) + constant(low, place)
    start, there_and_back = _numbers(place, low, 2 * width)
    far = ops.abs(place - start)
    far = far - ops.floor(far / there_and_back) * there_and_back
    return start + ops.minimum(far, there_and_back - far)


def _cubic_weights(t: Tensor) -> list[Tensor]:
    """Keys' kernel with a = -0.75 at the four neighbours of a place, of which `t` is the fraction."""
    one, two, a = _numbers(t, 1, 2, -0.75)
    five, eight, four, three = _numbers(t, 5, 8, 4, 3)

    def far(x: Tensor) -> Tensor:
        return ((a * x - five * a) * x + eight * a) * x - four * a

    def near(x: Tensor) -> Tensor:
        return ((a + two) * x - (a + three)) * x * x + one

    return [far(t + one), near(t), near(one - t), far(two - t)]


@operator("GridSample")
def _grid_sample(node: Node, x: Tensor, grid: Tensor) -> Tensor:
    space = node.sizes(x)[2:]
    rank = len(space)
    mode = node.get("mode", "linear").removeprefix("bi")
    padding, corners = node.get("padding_mode", "zeros"), bool(node.get("align_corners"))
    shape = node.sizes(grid)[:-1]
    along = [ops.gather(grid, constant(rank - 1 - i, int64), axis=rank + 1) for i in range(rank)]
    taps = []
    for place, length in zip(along, space, strict=True):
        one, half, size = _numbers(place, 1, 0.5, length - 1 if corners else length)
        at = (place + one) * half * size if corners else ((place + one) * size - one) * half
        bounds = (0.0, length - 1.0) if corners else (-0.5, length - 0.5)
        taps.append(_taps(at, length, bounds, mode, padding))
    batch = ops.broadcast_to(constant(np.arange(shape[0]).reshape([-1] + [1] * rank), int64), shape=shape)
    images = permuted(x, [0, *range(2, rank + 2), 1])
    made = sampled(images, batch, taps)
    return permuted(made, [0, rank + 1, *range(1, rank + 1)])


def _taps(
    at: Tensor, length: int, bounds: tuple[float, float], mode: str, padding: str
) -> list[tuple[Tensor, Tensor]]:
    if mode == "nearest":
        at = ops.rint(at)
    if mode != "cubic" and padding == "border":
        at = _clamped(at, length - 1)
    elif mode != "cubic" and padding == "reflection":
        at = _reflected(at, *bounds)
    if mode == "nearest":
        found = [(at, ops.ones_like(at))]
    else:
        floor = ops.floor(at)
        t = at - floor
        weights = _cubic_weights(t) if mode == "cubic" else [constant(1, t) - t, t]
        first = 1 - len(weights) // 2
        found = [(floor + constant(first + i, floor), w) for i, w in enumerate(weights)]
    return [_inside(place, weight, length, bounds, padding) for place, weight in found]


def _inside(
    place: Tensor, weight: Tensor, length: int, bounds: tuple[float, float], padding: str
) -> tuple[Tensor, Tensor]:
    """A tap that is an element of the input. Elements beyond the ends are zero, or others in their place."""
    if padding == "reflection":
        place = _reflected(place, *bounds)
    inner = _clamped(place, length - 1)
    if padding == "zeros":
        weight = select(ops.equal(inner, place), weight, ops.zeros_like(weight))
    return inner, weight


# AffineGrid


@operator("AffineGrid")
def _affine_grid(node: Node, theta: Tensor, size: Tensor) -> Tensor:
    batch, _, *space = node.ints(size, "size")
    rank = len(space)
    lines = []
    for n in space:
        if node.get("align_corners"):
            lines.append(np.linspace(-1, 1, n) if n > 1 else np.zeros(1))
        else:
            lines.append((np.arange(n) * 2 + 1) / n - 1)
    grid = np.stack([*reversed(np.meshgrid(*lines, indexing="ij")), np.ones(space)], axis=-1)
    points = constant(grid.reshape(1, -1, rank + 1), theta)
    return reshape(ops.batch_matmul(points, theta, adj_y=True), [batch, *space, rank])


# RoiAlign


@operator("RoiAlign")
def _roi_align(node: Node, x: Tensor, boxes: Tensor, which: Tensor) -> Tensor:
    rows, columns = node.get("output_height", 1), node.get("output_width", 1)
    count = node.get("sampling_ratio", 0)
    half = (
        node.get("coordinate_transformation_mode", "half_pixel" if node.version >= 16 else "") == "half_pixel"
    )
    if count <= 0:
        raise node.unsupported(
            "a sampling_ratio of 0, where the number of samples depends on each box, is not supported"
        )
    _, _, height, width = node.sizes(x)
    edges = boxes * constant(node.get("spatial_scale", 1.0), boxes) - constant(0.5 if half else 0.0, boxes)
    left, top, right, bottom = (ops.gather(edges, constant(i, int64), axis=1) for i in range(4))
    taps, inside = [], []
    for axis, (low, high, bins, length) in enumerate(
        ((top, bottom, rows, height), (left, right, columns, width))
    ):
        extent = high - low
        if not half:
            extent = ops.maximum(extent, constant(1, extent))
        steps = (np.arange(bins * count) + 0.5) / (bins * count)
        at = ops.expand_dims(low, axis=1) + ops.expand_dims(extent, axis=1) * constant(steps[None, :], x)
        shape = [-1, bins * count, 1] if axis == 0 else [-1, 1, bins * count]
        at = reshape(at, shape)
        inside.append(ops.logical_and(at >= constant(-1, at), at <= constant(length, at)))
        at = _clamped(at, length - 1)
        floor = ops.minimum(ops.floor(at), constant(max(length - 2, 0), at))
        t = at - floor
        taps.append([(floor, constant(1, t) - t), (_clamped(floor + constant(1, t), length - 1), t)])
    return _boxed(node, x, which, taps, inside, (rows, columns, count))


def _boxed(
    node: Node,
    x: Tensor,
    which: Tensor,
    taps: list[list[tuple[Tensor, Tensor]]],
    inside: list[Tensor],
    grid: tuple[int, int, int],
) -> Tensor:
    rows, columns, count = grid
    boxes, channels = node.sizes(which)[0], node.sizes(x)[1]
    shape = (boxes, rows * count, columns * count)
    full = [
        [(ops.broadcast_to(at, shape=shape), ops.broadcast_to(weight, shape=shape)) for at, weight in axis]
        for axis in taps
    ]
    batch = ops.broadcast_to(reshape(cast(which, int64), [-1, 1, 1]), shape=shape)
    images = permuted(x, [0, 2, 3, 1])
    keep = cast(ops.expand_dims(ops.logical_and(inside[0], inside[1]), axis=-1), x.dtype)
    apart = [boxes, rows, count, columns, count, channels]
    if node.get("mode", "avg") == "avg":
        made = ops.reduce_mean(reshape(sampled(images, batch, full) * keep, apart), axis=(2, 4))
    else:  # the largest of all weighted neighbours
        parts = [sampled(images, batch, [[a], [b]]) * keep for a in full[0] for b in full[1]]
        made = ops.reduce_max(reshape(functools.reduce(ops.maximum, parts), apart), axis=(2, 4))
    return permuted(made, [0, 3, 1, 2])


# DeformConv


@operator("DeformConv")
def _deform_conv(
    node: Node, x: Tensor, w: Tensor, offset: Tensor, bias: Tensor | None = None, mask: Tensor | None = None
) -> Tensor:
    """A convolution in the plane: each tap looks at a place, between the elements, that is moved."""
    batch, channels, *space = node.sizes(x)
    out, each, *taps = node.sizes(w)
    if len(space) != 2:
        raise OnnxError("only the convolution of images is defined")
    groups, moved = node.get("group", 1), node.get("offset_group", 1)
    found = windows(node, space, taps)
    counts, count = [one.count for one in found], taps[0] * taps[1]
    shifts = reshape(offset, [batch, moved, count, 2, *counts])
    grids = []
    for axis, one in enumerate(found):
        tap = np.indices(taps)[axis].reshape(1, 1, count, 1, 1) * one.dilation
        at = np.indices(counts)[axis].reshape(1, 1, 1, *counts) * one.stride - one.before
        grids.append(constant(tap + at, x) + ops.gather(shifts, constant(axis, int64), axis=3))
    pairs = [_taps(at, n, (0.0, n - 1.0), "linear", "zeros") for at, n in zip(grids, space, strict=True)]
    shape = (batch, moved, count, *counts)
    number = np.arange(batch * moved).reshape(batch, moved, 1, 1, 1)
    images = permuted(reshape(x, [batch * moved, channels // moved, *space]), [0, 2, 3, 1])
    seen = sampled(images, ops.broadcast_to(constant(number, int64), shape=shape), pairs)
    if mask is not None:
        seen = seen * ops.expand_dims(reshape(mask, list(shape)), axis=-1)
    seen = permuted(seen, [0, 1, 5, 2, 3, 4])  # batch, offset group, channel, tap, place
    seen = reshape(seen, [batch, groups, each * count, counts[0] * counts[1]])
    filters = reshape(w, [1, groups, out // groups, each * count])
    return with_bias(reshape(ops.batch_matmul(filters, seen), [batch, out, *counts]), bias)
