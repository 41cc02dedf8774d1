"""Convolutions with windows of 3x3 by fewer multiplications: Winograd's minimal filtering F(2x2, 3x3).

Four neighbouring results take 36 products of each input with each output channel. Sums and differences of
the 4x4 elements that they are made of need only 16:

    y = A ((G w G') * (B d B')) A'      d [4, 4] of x    w [3, 3]    y [2, 2]    ' transposed, * by elements

Over all tiles and channels, each of the 16 is a matrix product. The sums are shorter too, so that the error
is no larger. Source: A. Lavin and S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2016.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import product
from operator import add
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.graph.opdef import ops, recording
from staticgraph.compiler.passes.map_rows import map_rows

Matrix = Sequence[Sequence[float]]
_A = ((1, 1, 1, 0), (0, 1, -1, -1))
_B = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
_G = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))

_CHANNELS = 32  # in and out: with fewer the sums cost more than the products that they save
_TILES = 32  # with fewer, reading the larger filter costs more
_WASTE = 1.3  # of results that tiles over the edges compute for nothing
# Of transformed elements. A group of images should stay in a core's cache, but be large enough beside the
# transformed filter, which is read for each; one image, at least in the cache that cores share.
_GROUP, _PER_FILTER, _IMAGE = 1024 * 1024, 1 / 4, 8 * 1024 * 1024


def fewer_products(function: Function) -> Function:
    """`function` with convolutions replaced where it pays."""
    return transform(function, _rebuild) if any(map(_is_convolution, function.nodes)) else function


def _is_convolution(node: Node) -> bool:
    return node.op.name in ("conv_windows", "conv_spread")


def _rebuild(node: Node, inputs: tuple[Value, ...]) -> Any:
    build = node.outputs[0].recorder
    with build.at(node.where), recording(build):
        if _is_convolution(node) and _pays(node):
            return _convolution(node, *inputs)
        return build.apply(node.op, inputs, node.attrs)


def _pays(node: Node) -> bool:
    """Whether the windows are of the right kind, and large enough."""
    w, y, attrs = node.inputs[1], node.outputs[0], node.attrs
    steps = (*attrs.get("strides", ()), *attrs["dilations"])
    if y.dtype not in (float32, float64) or w.rank != 4 or w.shape[:2] != (3, 3) or set(steps) != {1}:
        return False
    images, *counts = y.shape[:3]
    return (
        all(0 <= before <= 2 for before in attrs["before"])
        and min(w.shape[2:]) >= _CHANNELS
        and images * _tiles(counts) >= _TILES
        and 4 * _tiles(counts) <= _WASTE * math.prod(counts)
        and _bytes(node) <= _IMAGE
    )


def _tiles(counts: Sequence[int]) -> int:
    """The number of tiles of an image."""
    return math.prod(-(-count // 2) for count in counts)


def _bytes(node: Node) -> int:
    """The size of an image after the transformation, before or after the products."""
    y = node.outputs[0]
    return 16 * _tiles(y.shape[1:3]) * max(node.inputs[1].shape[2:]) * y.dtype.size


def _convolution(node: Node, x: Value, w: Value) -> Value:
    """The result, by groups of images."""
    y, before = node.outputs[0], node.attrs["before"]
    flipped = node.op.name == "conv_spread"
    before = tuple(2 - b for b in before) if flipped else before
    w = _filter(w, flipped)
    room = int(max(_GROUP, w.size * w.dtype.size * _PER_FILTER)) // _bytes(node)
    images = next((n for n in range(room, 1, -1) if x.shape[0] % n == 0), 1)
    if images == x.shape[0]:
        return _images(x, w, before, y.shape[1:3])
    groups = ops.reshape(x, shape=(x.shape[0] // images, images, *x.shape[1:]))
    made = map_rows(lambda group: _images(group, w, before, y.shape[1:3]), groups)
    return ops.reshape(made, shape=y.shape)


def _images(x: Value, w: Value, before: Sequence[int], counts: Sequence[int]) -> Value:
    """The result for all images of `x` and the transformed filter `w`."""
    n, channels, outputs = x.shape[0], *w.shape[1:]
    tiles = [-(-count // 2) for count in counts]
    elements = ops.stack(_transformed(_B, _elements(x, before, tiles)), axis=0)
    products = ops.batch_matmul(ops.reshape(elements, shape=(16, n * math.prod(tiles), channels)), w)
    products = ops.reshape(products, shape=(4, 4, n, *tiles, outputs))
    parts = _transformed(_A, [[products[a, b] for b in range(4)] for a in range(4)])
    return ops.interleave(parts, strides=(1, 2, 2, 1))[:, : counts[0], : counts[1]]


def _elements(x: Value, before: Sequence[int], tiles: Sequence[int]) -> list[list[Value]]:
    """The 4x4 elements of every tile: `elements[a][b]` of shape [n, *tiles, channels]."""
    sizes = zip(tiles, before, x.shape[1:3], strict=True)
    around = [(b, max(0, 2 * count + 2 - b - have)) for count, b, have in sizes]
    padded = ops.pad(x, paddings=((0, 0), *around, (0, 0)))
    at = [[slice(a, a + 2 * count - 1, 2) for a in range(4)] for count in tiles]
    return [[padded[:, row, column] for column in at[1]] for row in at[0]]


def _filter(w: Value, flipped: bool) -> Value:
    """The transformed filter, [16, in, out]; that of a constant is computed here and now."""
    if w.constant is not None:
        values = w.constant[::-1, ::-1].swapaxes(2, 3) if flipped else w.constant
        made = np.einsum("ai,bj,ijco->abco", _G, _G, values.astype(np.float64))
        return w.recorder.constant(made.reshape(16, *made.shape[2:]), w.dtype)
    if flipped:
        w = ops.transpose(ops.reverse(w, axis=(0, 1)), perm=(0, 1, 3, 2))
    return ops.stack(_transformed(_G, [[w[i, j] for j in range(3)] for i in range(3)]), axis=0)


def _transformed(matrix: Matrix, values: Sequence[Sequence[Value]]) -> list[Value]:
    """The elements of M v M', row by row, for a matrix M and values v."""
    return [
        _sum([(p * q, v) for p, row in zip(m, values, strict=True) for q, v in zip(k, row, strict=True)])
        for m, k in product(matrix, matrix)
    ]


def _sum(terms: Sequence[tuple[float, Value]]) -> Value:
    """The sum of values times factors; of each size of factor, one at least is positive."""
    ordered = sorted(terms, key=lambda term: -term[0])
    parts = []
    for size in sorted({abs(factor) for factor, _ in terms} - {0}):
        (_, part), *others = (term for term in ordered if abs(term[0]) == size)
        for factor, value in others:
            part = part + value if factor > 0 else part - value
        parts.append(part if size == 1 else part * size)
    return reduce(add, parts)
