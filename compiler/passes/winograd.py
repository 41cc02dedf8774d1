"""Convolutions with windows of 3x3 by fewer multiplications: Winograd's minimal filtering F(2x2, 3x3).

Four neighbouring results take 36 products of each input with each output channel. Sums and differences of
the 4x4 elements that they are made of need only 16:

    y = A ((G w G') * (B x B')) A'      x [4, 4]    w [3, 3]    y [2, 2]    ' transposed, * by elements

Over all tiles and channels, each of the 16 is a matrix product. The derivative by x is such a convolution
too; that by w is the sum over all tiles of G' ((A' dy A) * (B x B')) G. The sums are shorter, so that the
error is no larger. But it is not zero at places of the window whose weights are zero: a filter with such a
place, as those of causal nets have, is left alone.

If height and width are open, the code has both ways, and the sizes of a run choose one by the same rules.

Source: A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, float32, float64, int32
from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.graph.opdef import OPS, ops, recording
from staticgraph.compiler.graph.sizes import AnySize, Size, at_least, at_most, is_open, same, same_shape
from staticgraph.compiler.passes.following_arithmetic import Arithmetic, Followed, applied
from staticgraph.compiler.passes.map_rows import RowLoops
from staticgraph.compiler.support.dataclass import dataclass

Matrix = Sequence[Sequence[float]]
_A = ((1, 1, 1, 0), (0, 1, -1, -1))
_B = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
_G = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))

_CHANNELS = 32  # in and out: with fewer the sums cost more than the products that they save
# With fewer tiles, making the larger filter costs more. A constant one is made once; and if the number of
# images is open, they are rather several than one.
_TILES, _TILES_OF_OPEN, _TILES_OF_CONSTANT = 32, 16, 4
_WASTE = 13, 10  # of results that tiles over the edges compute for nothing: a ratio
# Bytes of transformed elements. A group of images should stay in a core's cache, but be large enough beside
# the transformed filter, which is read for each; one image, at least in the cache that cores share.
_GROUP, _PER_FILTER, _IMAGE = 1024 * 1024, 1 / 4, 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Convolution:
    """One of the kind that can be replaced, forward or backward. Its result, or what it is the derivative of,
    is [images, *counts, outputs].
    """

    images: AnySize
    counts: tuple[AnySize, ...]
    channels: int
    outputs: int
    before: tuple[int, ...]
    dtype: DType
    is_constant: bool  # the filter

    @property
    def tiles(self) -> tuple[AnySize, ...]:
        """The tiles of an image, along each axis."""
        return tuple(-(-count // 2) for count in self.counts)

    @property
    def image(self) -> AnySize:
        """The bytes of an image after the transformation, before or after the products."""
        return 16 * math.prod(self.tiles) * max(self.channels, self.outputs) * self.dtype.size

    @property
    def group(self) -> int:
        """Number of images that are processed together; each by itself if there may be any number or size."""
        if is_open((self.images, *self.counts)):
            return 1
        filter = 16 * self.channels * self.outputs * self.dtype.size
        room = int(max(_GROUP, filter * _PER_FILTER)) // self.image
        return next((n for n in range(room, 1, -1) if self.images % n == 0), 1)

    @property
    def pays(self) -> AnySize:
        """1 if it pays to replace it, else 0."""
        if min(self.channels, self.outputs) < _CHANNELS:
            return 0
        tiles, is_open = math.prod(self.tiles), isinstance(self.images, Size)
        least = _TILES_OF_CONSTANT if self.is_constant else _TILES_OF_OPEN if is_open else _TILES
        waste, whole = _WASTE
        spare = (
            (tiles if is_open else self.images * tiles) - least,
            waste * math.prod(self.counts) - whole * 4 * tiles,
            _IMAGE - self.image,
        )
        return math.prod(at_most(at_least(n + 1, 0), 1) for n in spare)


def fewer_products(function: Function) -> Function:
    """`function` with convolutions replaced where it pays."""
    if not any(map(_replaceable, function.nodes)):
        return function
    return transform(function, _Rewriting(function))


def _replaceable(node: Node) -> _Convolution | None:
    """Return a description of the convolution `node`, or None if it does not pay to replace it."""
    if node.op.name not in FORWARD and node.op.name != "conv_filter":
        return None
    attrs, y, w = node.attrs, node.outputs[0], node.inputs[1]
    if node.op.name == "conv_filter":
        y, w = w, y
    steps = {*attrs.get("strides", (1,)), *attrs["dilations"]}
    if y.dtype not in (float32, float64) or w.rank != 4 or w.shape[:2] != (3, 3) or steps != {1}:
        return None
    if is_open(w.shape) or is_open(y.shape[3:]):
        return None
    (channels, outputs), before = w.shape[2:], attrs["before"]
    if node.op.name == "conv_spread":
        channels, outputs, before = outputs, channels, tuple(2 - b for b in before)
    if node.op.name in FORWARD and _leaves_out_places(w):
        return None
    is_constant = node.op.name in FORWARD and w.constant is not None
    made = _Convolution(y.shape[0], y.shape[1:3], channels, outputs, before, y.dtype, is_constant)
    return made if min(before) >= 0 and not same(made.pays, 0) else None


def _leaves_out_places(w: Value) -> bool:
    """Return True if all weights of a place in the window are known to be zero, for example by a mask.

    Results do not depend on the elements there at all, not even by rounding errors. Nets of which a part must
    not know of another, such as PixelCNN, are made in this way.
    """
    zeros = _known_zeros(w)
    return zeros is not None and bool(np.broadcast_to(zeros, w.shape).all((2, 3)).any())


def _known_zeros(value: Value) -> np.ndarray | None:
    """Return which elements of a value are known to be zero, to broadcast to its shape; None if none are."""
    if value.constant is not None:
        return value.constant == 0
    node = value.node
    if node.op.name == "multiply":
        found = [zeros for v in node.inputs if (zeros := _known_zeros(v)) is not None]
        return reduce(np.logical_or, found) if found else None
    if node.op.name == "select" and (chosen := node.inputs[0].constant) is not None:
        one, other = (zeros if (zeros := _known_zeros(v)) is not None else False for v in node.inputs[1:])
        return np.where(chosen, one, other)
    return None


class _Rewriting:
    """Makes the nodes of a function anew, one after the other."""

    def __init__(self, function: Function) -> None:
        self._made = partial(_by_fewer, RowLoops())
        self._branches: dict[Hashable, tuple[Function, ...]] = {}  # equal layers have the same ones
        found = ((node, _replaceable(node)) for node in function.nodes)
        heads = (n for n, c in found if c and n.op.name in FORWARD and not _at_once(c))
        self._followed = Followed(function, heads)
        self._inputs: dict[Node, tuple[Value, ...]] = {}  # of nodes that are done with one behind them

    def __call__(self, node: Node, inputs: tuple[Value, ...]) -> Any:
        self._inputs[node] = inputs
        if self._followed.is_inner(node):
            return node.outputs  # nobody needs it
        build, head = node.outputs[0].recorder, self._followed.head(node)
        c = _replaceable(head)
        if c is None:
            return build.again(node, inputs).outputs
        with build.at(head.where), recording(build):
            x, w = self._inputs[head]
            after = self._followed.arithmetic(node, self._inputs)
            if not isinstance(c.pays, Size):
                return self._made(head, c, after, x, w)
            return self._either(head, c, after, x, w)

    def _either(self, head: Node, c: _Convolution, after: Arithmetic, x: Value, w: Value) -> Value:
        """One of both ways, as sizes ask for."""
        build, operands = x.recorder, (x, w, *after.rows, *after.whole)
        captured = [v for v in operands if v.constant is None]
        types = tuple(v.type if v.constant is None else v for v in operands)
        key = head.op.name, c, after.steps, len(after.rows), types

        def branch(compute: Callable[..., Value]) -> Function:
            with build.at(None):
                params = [build.fresh_parameter("captured", v.type) for v in captured]
                taken = dict(zip(captured, params, strict=True))
                first, second, *others = (taken.get(v, v) for v in operands)
                rows, whole = tuple(others[: len(after.rows)]), tuple(others[len(after.rows) :])
                made = compute(head, c, Arithmetic(after.steps, rows, whole), first, second)
                return Function(tuple(params), (made,))

        if key not in self._branches:
            self._branches[key] = branch(_directly), branch(self._made)
        chosen = build.constant(c.pays, int32)
        return build.node(OPS["branch"], (chosen, *captured), {"branches": self._branches[key]}).outputs[0]


def _directly(head: Node, c: _Convolution, after: Arithmetic, x: Value, w: Value) -> Value:
    """The convolution as it is, and the arithmetic after it."""
    (made,) = x.recorder.again(head, (x, w)).outputs
    return applied(after.steps, made, (*after.rows, *after.whole))


def _by_fewer(loops: RowLoops, head: Node, c: _Convolution, after: Arithmetic, x: Value, w: Value) -> Value:
    """The convolution by fewer products, and the arithmetic after it."""
    if head.op.name == "conv_filter":
        return _filter(loops, c, x, w)
    filter = _transformed_filter(w, FORWARD[head.op.name])
    if not _at_once(c):
        return _forward(loops, c, x, filter, after)
    made = _forward_of_group(c, x, filter)
    return applied(after.steps, made, (*after.rows, *after.whole))


def _at_once(c: _Convolution) -> bool:
    """Return True if all images are one group, in sizes that are known."""
    return same(c.group, c.images) and not isinstance(c.pays, Size)


def _forward(loops: RowLoops, c: _Convolution, x: Value, w: Value, after: Arithmetic) -> Value:
    """`conv_windows` by groups of images, and the arithmetic after it."""
    rows = [_grouped(c, value) for value in (x, *after.rows)]
    made = loops.map(_forward_and_after, (c, after.steps, len(rows)), rows, [w, *after.whole])
    return ops.reshape(made, shape=(c.images, *c.counts, c.outputs))


def _forward_and_after(what: tuple[_Convolution, Any, int], *values: Value) -> Value:
    c, steps, rows = what
    made = _forward_of_group(c, values[0], values[rows])
    return applied(steps, made, (*values[1:rows], *values[rows + 1 :]))


def _forward_of_group(c: _Convolution, x: Value, w: Value) -> Value:
    products = ops.batch_matmul(_transformed_input(c, x), w)
    products = ops.reshape(products, shape=(4, 4, x.shape[0], *c.tiles, c.outputs))
    made = ops.tile_transform(products, matrix=_A, image=True)
    if same_shape(made.shape[1:3], c.counts):
        return made
    return ops.slice(made, begin=(0, 0, 0, 0), size=(made.shape[0], *c.counts, c.outputs))


def _filter(loops: RowLoops, c: _Convolution, x: Value, dy: Value) -> Value:
    """`conv_filter`: the sum over groups of images."""
    if same(c.group, c.images):
        total = _filter_of_group(c, x, dy)
    else:
        total = loops.sum(_filter_of_group, c, [_grouped(c, x), _grouped(c, dy)])
    total = ops.reshape(total, shape=(4, 4, c.channels, c.outputs))
    made = ops.tile_transform(total, matrix=_transposed(_G))
    return ops.reshape(made, shape=(3, 3, c.channels, c.outputs))


def _filter_of_group(c: _Convolution, x: Value, dy: Value) -> Value:
    around = [(0, count % 2) for count in c.counts]
    dy = ops.pad(dy, paddings=((0, 0), *around, (0, 0)))
    spread = ops.tile_transform(dy, matrix=_transposed(_A), tiles=c.tiles)
    return ops.batch_matmul(_transformed_input(c, x), _matrices(spread), adj_x=True)


# Convolutions, and if the filter is the other way round: `conv_spread` has windows over the cotangent.
FORWARD = {"conv_windows": False, "conv_spread": True}


def _grouped(c: _Convolution, x: Value) -> Value:
    return ops.reshape(x, shape=(c.images // c.group, c.group, *x.shape[1:]))


def _transformed_input(c: _Convolution, x: Value) -> Value:
    """B x B' for all tiles of x: [16, tiles, channels]."""
    sizes = zip(c.tiles, c.before, x.shape[1:3], strict=True)
    around = [(before, at_least(2 * count + 2 - before - have, 0)) for count, before, have in sizes]
    padded = ops.pad(x, paddings=((0, 0), *around, (0, 0)))
    return _matrices(ops.tile_transform(padded, matrix=_B, tiles=c.tiles))


def _transformed_filter(w: Value, flipped: bool) -> Value:
    """G w G', [16, channels, outputs]; that of a constant is computed here and now."""
    if w.constant is not None:
        values = w.constant[::-1, ::-1].swapaxes(2, 3) if flipped else w.constant
        made = np.einsum("ai,bj,ijco->abco", _G, _G, values.astype(np.float64))
        return w.recorder.constant(made.reshape(16, *made.shape[2:]), w.dtype)
    if flipped:
        w = ops.transpose(ops.reverse(w, axis=(0, 1)), perm=(0, 1, 3, 2))
    return ops.tile_transform(w, matrix=_G)


def _matrices(values: Value) -> Value:
    """[16, rows, columns] of values [16, ..., columns]."""
    return ops.reshape(values, shape=(16, math.prod(values.shape[1:-1]), values.shape[-1]))


def _transposed(matrix: Matrix) -> Matrix:
    return tuple(zip(*matrix, strict=True))
