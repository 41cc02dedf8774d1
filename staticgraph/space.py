"""Blocks of images moved between the spatial axes and the depth or the batch, and image patches."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.array_ops import one_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor

__all__ = [
    "batch_to_space",
    "batch_to_space_nd",
    "depth_to_space",
    "extract_image_patches",
    "space_to_batch",
    "space_to_batch_nd",
    "space_to_depth",
]


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Blocks of block_size x block_size pixels, each as one pixel with that many times the depth.

    >>> import staticgraph as sg
    >>> sg.space_to_depth(sg.placeholder(sg.float32, [None, 4, 4, 3]), 2).shape.as_list()
    [None, 2, 2, 12]
    """
    return ops.space_to_depth(input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """The inverse of `space_to_depth`.

    >>> sg.Session().run(sg.depth_to_space(sg.reshape(sg.range(4), [1, 1, 1, 4]), 2)[0, :, :, 0])
    array([[0, 1],
           [2, 3]], dtype=int32)
    """
    return ops.depth_to_space(input, block_size=block_size, data_format=data_format, name=name)


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """The axes after the batch, padded with zeros and divided
    into blocks: the position in a block becomes batch.
    """
    return ops.space_to_batch_nd(input, block_shape=block_shape, paddings=paddings, name=name)


def batch_to_space_nd(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """The inverse of `space_to_batch_nd`: the batch is spread over blocks, whose borders are cropped."""
    return ops.batch_to_space_nd(input, block_shape=block_shape, crops=crops, name=name)


def space_to_batch(
    input: Any,
    paddings: Any,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: int | None = None,
) -> Tensor:
    """`space_to_batch_nd` for the two spatial axes of images, with square blocks."""
    size = one_of("block_size", block_size, "block_shape", block_shape)
    return space_to_batch_nd(input, np.array([size, size], np.int32), paddings, name)


def batch_to_space(
    input: Any, crops: Any, block_size: int | None = None, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """`batch_to_space_nd` for the two spatial axes of images, with square blocks."""
    size = one_of("block_size", block_size, "block_shape", block_shape)
    return batch_to_space_nd(input, np.array([size, size], np.int32), crops, name)


def extract_image_patches(
    images: Any, ksizes: Any = None, strides: Any = None, rates: Any = None, padding: Any = None,
    name: str | None = None, sizes: Any = None,
) -> Tensor:  # fmt: skip
    """Windows of the images, each as one pixel whose depth holds its elements in row-major order.

    `ksizes`, `strides` and `rates` have the form [1, rows, columns, 1]; `padding` is SAME or VALID.

    >>> x = sg.reshape(sg.range(9), [1, 3, 3, 1])
    >>> patches = sg.extract_image_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    >>> sg.Session().run(patches[0, 0])
    array([[0, 1, 3, 4],
           [1, 2, 4, 5]], dtype=int32)
    """
    ksizes = one_of("ksizes", ksizes, "sizes", sizes)
    if None in (ksizes, strides, rates, padding):
        raise misuse(TypeError, "extract_image_patches needs ksizes, strides, rates and padding")
    return ops.extract_image_patches(
        images, ksizes=tuple(ksizes), strides=tuple(strides), rates=tuple(rates), padding=padding, name=name
    )
