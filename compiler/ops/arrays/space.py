"""Ops that move blocks of images between the spatial axes and the depth or the batch, and image patches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import ANY, float32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType, shape_text
from staticgraph.compiler.ops.kinds import composite
from staticgraph.compiler.ops.samples import Sample, real


def _divided(n: int | None, by: int, what: str) -> int | None:
    require(n is None or n % by == 0, f"{what} of size {n} is not a multiple of {by}")
    return None if n is None else n // by


def _image(input: TensorType, block_size: int, data_format: str) -> tuple[int | None, ...]:
    """(batch, height, width, depth) of an image in either layout."""
    assert input.shape is not None
    require(block_size > 1, f"block_size is {block_size}, and must be at least 2")
    require(data_format in ("NHWC", "NCHW"), f"data_format {data_format!r} must be NHWC or NCHW")
    require(len(input.shape) == 4, f"an image tensor has four axes, and this is {shape_text(input.shape)}")
    n, *rest = input.shape
    return (n, *rest) if data_format == "NHWC" else (n, rest[1], rest[2], rest[0])


def _in_layout(dtype: Any, n: Any, h: Any, w: Any, c: Any, data_format: str) -> TensorType:
    return TensorType(dtype, (n, h, w, c) if data_format == "NHWC" else (n, c, h, w))


def _to_depth_type(input: TensorType, block_size: int, data_format: str = "NHWC") -> TensorType:
    if input.shape is None:
        return TensorType(input.dtype, (None,) * 4)
    n, h, w, c = _image(input, block_size, data_format)
    h, w = _divided(h, block_size, "the height"), _divided(w, block_size, "the width")
    return _in_layout(input.dtype, n, h, w, None if c is None else c * block_size**2, data_format)


def _to_space_type(input: TensorType, block_size: int, data_format: str = "NHWC") -> TensorType:
    if input.shape is None:
        return TensorType(input.dtype, (None,) * 4)
    n, h, w, c = _image(input, block_size, data_format)
    h, w = (None if s is None else s * block_size for s in (h, w))
    return _in_layout(input.dtype, n, h, w, _divided(c, block_size**2, "the depth"), data_format)


def _channels_last(x: Any, data_format: str) -> Any:
    return x if data_format == "NHWC" else ops.transpose(x, perm=(0, 2, 3, 1))


def _from_channels_last(x: Any, data_format: str) -> Any:
    return x if data_format == "NHWC" else ops.transpose(x, perm=(0, 3, 1, 2))


def _to_depth(x: np.ndarray, block_size: int, data_format: str = "NHWC") -> np.ndarray:
    x = x if data_format == "NHWC" else x.transpose(0, 2, 3, 1)
    parts = [x[:, i::block_size, j::block_size] for i in range(block_size) for j in range(block_size)]
    out = np.concatenate(parts, axis=3)
    return out if data_format == "NHWC" else out.transpose(0, 3, 1, 2)


def _to_space(x: np.ndarray, block_size: int, data_format: str = "NHWC") -> np.ndarray:
    x = x if data_format == "NHWC" else x.transpose(0, 2, 3, 1)
    n, h, w, c = x.shape
    b, depth = block_size, c // block_size**2
    out = np.zeros((n, h * b, w * b, depth), x.dtype)
    for i in range(b):
        for j in range(b):
            k = (i * b + j) * depth
            out[:, i::b, j::b] = x[..., k : k + depth]
    return out if data_format == "NHWC" else out.transpose(0, 3, 1, 2)


@composite(
    tf="SpaceToDepth", type=_to_depth_type, numpy=_to_depth, dtypes=ANY,
    grad=lambda g, y, x, block_size, data_format="NHWC": (
        ops.depth_to_space(g, block_size=block_size, data_format=data_format),
    ),
    grad_takes=(),
    samples=[Sample(real(1, 4, 4, 1), block_size=2), Sample(real(2, 3, 6, 2), block_size=3),
             Sample(real(1, 3, 2, 4), block_size=2, data_format="NCHW")],
)
def space_to_depth(input: Any, *, block_size: int, data_format: str = "NHWC") -> Any:
    """Blocks of block_size x block_size pixels, each as one pixel with that many times the depth."""
    b, x = block_size, _channels_last(input, data_format)
    n, h, w, c = x.shape
    blocks = ops.transpose(ops.reshape(x, shape=(n, h // b, b, w // b, b, c)), perm=(0, 1, 3, 2, 4, 5))
    return _from_channels_last(ops.reshape(blocks, shape=(n, h // b, w // b, b * b * c)), data_format)


@composite(
    tf="DepthToSpace", type=_to_space_type, numpy=_to_space, dtypes=ANY,
    grad=lambda g, y, x, block_size, data_format="NHWC": (
        ops.space_to_depth(g, block_size=block_size, data_format=data_format),
    ),
    grad_takes=(),
    samples=[Sample(real(1, 2, 2, 4), block_size=2), Sample(real(2, 1, 2, 18), block_size=3),
             Sample(real(1, 8, 1, 2), block_size=2, data_format="NCHW")],
)
def depth_to_space(input: Any, *, block_size: int, data_format: str = "NHWC") -> Any:
    """The inverse of `space_to_depth`: the depth of each pixel spread over block_size x block_size pixels."""
    b, x = block_size, _channels_last(input, data_format)
    n, h, w, c = x.shape
    blocks = ops.reshape(x, shape=(n, h, w, b, b, c // (b * b)))
    spread = ops.reshape(
        ops.transpose(blocks, perm=(0, 1, 3, 2, 4, 5)), shape=(n, h * b, w * b, c // (b * b))
    )
    return _from_channels_last(spread, data_format)


def _blocks(input: TensorType, block_shape: Any, pairs: Any, what: str) -> int:
    """The number of blocked axes, after a check that the operands fit."""
    m = len(block_shape)
    pairs_fit = pairs is None or all(len(p) == 2 and min(p) >= 0 for p in pairs)
    require(pairs_fit, f"{what} {pairs} must be pairs of numbers that are not negative")
    require(
        all(b is None or b >= 1 for b in block_shape), f"block_shape {list(block_shape)} must be positive"
    )
    require(pairs is None or len(pairs) == m, f"{what} must be one pair for each of the {m} blocked axes")
    require(
        input.rank is None or input.rank > m,
        f"{shape_text(input.shape)} has fewer than {m} axes after the batch",
    )
    return m


def _to_batch_type(input: TensorType, block_shape: Any, paddings: Any) -> TensorType:
    if block_shape is None or input.shape is None:
        return TensorType(input.dtype, None if input.shape is None else (None,) * len(input.shape))
    m = _blocks(input, block_shape, paddings, "paddings")
    sizes = [
        None if None in (n, b) or paddings is None else _divided(n + sum(p), b, "a padded axis")
        for n, b, p in zip(input.shape[1:], block_shape, paddings or ((0, 0),) * m, strict=False)
    ]
    known = input.shape[0] is not None and None not in block_shape
    batch = input.shape[0] * math.prod(block_shape) if known else None
    return TensorType(input.dtype, (batch, *sizes, *input.shape[m + 1 :]))


def _from_batch_type(input: TensorType, block_shape: Any, crops: Any) -> TensorType:
    if block_shape is None or input.shape is None:
        return TensorType(input.dtype, None if input.shape is None else (None,) * len(input.shape))
    m = _blocks(input, block_shape, crops, "crops")
    sizes = [
        None if None in (n, b) or crops is None else n * b - sum(c)
        for n, b, c in zip(input.shape[1:], block_shape, crops or ((0, 0),) * m, strict=False)
    ]
    require(all(s is None or s >= 0 for s in sizes), f"crops {crops} take more than there is")
    known = None not in block_shape
    batch = _divided(input.shape[0], math.prod(block_shape), "the batch") if known else None
    return TensorType(input.dtype, (batch, *sizes, *input.shape[m + 1 :]))


def _to_batch(x: np.ndarray, block_shape: Any, paddings: Any) -> np.ndarray:
    m = len(block_shape)
    whole = _to_batch_type(TensorType(float32, x.shape), block_shape, paddings).static_shape
    if 0 in whole:  # blocks of any size
        return np.zeros(whole, x.dtype)
    x = np.pad(x, [(0, 0), *paddings, *[(0, 0)] * (x.ndim - m - 1)])
    parts = [x[(slice(None), *(slice(o, None, b) for o, b in zip(offset, block_shape, strict=True)))]
             for offset in np.ndindex(*block_shape)]
    return np.concatenate(parts, axis=0)


def _from_batch(x: np.ndarray, block_shape: Any, crops: Any) -> np.ndarray:
    blocks, m = math.prod(block_shape), len(block_shape)
    batch = x.shape[0] // blocks
    if not x.size:
        return np.zeros(
            _from_batch_type(TensorType(float32, x.shape), block_shape, crops).static_shape, x.dtype
        )
    spatial = [n * b for n, b in zip(x.shape[1:], block_shape, strict=False)]
    out = np.zeros((batch, *spatial, *x.shape[m + 1 :]), x.dtype)
    for k, offset in enumerate(np.ndindex(*block_shape)):
        out[(slice(None), *(slice(o, None, b) for o, b in zip(offset, block_shape, strict=True)))] = x[
            k * batch : (k + 1) * batch
        ]
    return out[(slice(None), *(slice(a, n - b) for (a, b), n in zip(crops, spatial, strict=True)))]


_SPACE = [
    Sample(real(1, 4, 4, 1), block_shape=(2, 2), paddings=((0, 0), (0, 0))),
    Sample(real(2, 5), block_shape=(3,), paddings=((1, 0),)),
    Sample(real(2, 3, 3, 2), block_shape=(2, 1), paddings=((0, 1), (0, 0))),
]


@composite(
    tf="SpaceToBatchND", type=_to_batch_type, numpy=_to_batch,
    operands=("block_shape", "paddings"), partial=("block_shape", "paddings"), dtypes=ANY, samples=_SPACE,
    grad=lambda g, y, x, block_shape, paddings: (
        ops.batch_to_space_nd(g, block_shape=block_shape, crops=paddings),
    ),
    grad_takes=("block_shape", "paddings"),
)
def space_to_batch_nd(input: Any, *, block_shape: Any, paddings: Any) -> Any:
    """The axes after the batch, padded by `paddings` and divided into blocks of `block_shape`.

    The position in a block becomes part of the batch.
    """
    m = len(block_shape)
    rest = input.shape[m + 1 :]
    padded = ops.pad(input, paddings=((0, 0), *paddings, *(((0, 0),) * len(rest))))
    batch, *spatial = padded.shape[: m + 1]
    counts = [n // b for n, b in zip(spatial, block_shape, strict=True)]
    split = [s for pair in zip(counts, block_shape, strict=True) for s in pair]
    blocks = ops.reshape(padded, shape=(batch, *split, *rest))
    inner, outer = range(2, 2 * m + 1, 2), range(1, 2 * m, 2)
    tail = range(2 * m + 1, 2 * m + 1 + len(rest))
    moved = ops.transpose(blocks, perm=(*inner, 0, *outer, *tail))
    return ops.reshape(moved, shape=(batch * math.prod(block_shape), *counts, *rest))


@composite(
    tf="BatchToSpaceND", type=_from_batch_type, numpy=_from_batch,
    operands=("block_shape", "crops"), partial=("block_shape", "crops"), dtypes=ANY,
    grad=lambda g, y, x, block_shape, crops: (
        ops.space_to_batch_nd(g, block_shape=block_shape, paddings=crops),
    ),
    grad_takes=("block_shape", "crops"),
    samples=[Sample(real(4, 2, 2, 1), block_shape=(2, 2), crops=((0, 0), (0, 0))),
             Sample(real(6, 2), block_shape=(3,), crops=((1, 0),)),
             Sample(real(4, 2, 3, 2), block_shape=(2, 1), crops=((0, 1), (0, 0)))],
)
def batch_to_space_nd(input: Any, *, block_shape: Any, crops: Any) -> Any:
    """The inverse of `space_to_batch_nd`: the batch is spread over blocks of `block_shape`.

    Then `crops` = (before, after) elements are taken away from each blocked axis.
    """
    m, blocks = len(block_shape), math.prod(block_shape)
    counts, rest = input.shape[1 : m + 1], input.shape[m + 1 :]
    batch = input.shape[0] // blocks
    spread = ops.reshape(input, shape=(*block_shape, batch, *counts, *rest))
    between = [axis for k in range(m) for axis in (m + 1 + k, k)]
    moved = ops.transpose(spread, perm=(m, *between, *range(2 * m + 1, 2 * m + 1 + len(rest))))
    sizes = [n * b for n, b in zip(counts, block_shape, strict=True)]
    whole = ops.reshape(moved, shape=(batch, *sizes, *rest))
    begin = (0, *(a for a, _ in crops), *(0 for _ in rest))
    kept = [n - a - b for n, (a, b) in zip(sizes, crops, strict=True)]
    return ops.slice(whole, begin=begin, size=(batch, *kept, *rest))
