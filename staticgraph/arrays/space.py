"""Blocks of images moved between the spatial axes and the depth or the batch, and image patches."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import one_of
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import int32
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.tensor import Tensor


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
    return _images(space_to_batch_nd(input, np.array([size, size], np.int32), paddings, name))


def batch_to_space(
    input: Any, crops: Any, block_size: int | None = None, name: str | None = None, block_shape: Any = None
) -> Tensor:
    """`batch_to_space_nd` for the two spatial axes of images, with square blocks."""
    size = one_of("block_size", block_size, "block_shape", block_shape)
    return _images(batch_to_space_nd(input, np.array([size, size], np.int32), crops, name))


def _images(made: Tensor) -> Tensor:
    """Return a tensor, of which at least it is known that it holds images."""
    if made.type.shape is None:
        made.set_shape([None] * 4)
    return made


def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the paddings with which blocks divide a shape, and the crops that undo what they add.

    Args:
        input_shape: The sizes of the axes that are divided: a vector of int32.
        block_shape: As many sizes of a block.
        base_paddings: The least padding, of shape [axes, 2]; zeros by default.
        name: The name scope.

    Returns:
        `paddings` and `crops`, int32 tensors of shape [axes, 2], for `space_to_batch_nd` and
        `batch_to_space_nd`.

    >>> paddings, crops = sg.required_space_to_batch_paddings([11], [4], [[2, 1]])
    >>> sg.Session().run([paddings, crops])
    [array([[2, 3]], dtype=int32), array([[0, 2]], dtype=int32)]
    """
    with name_scope(name, "required_space_to_batch_paddings", [input_shape, block_shape]):
        shape = convert_to_tensor(input_shape, int32, "input_shape")
        blocks = convert_to_tensor(block_shape, int32, "block_shape")
        given = [[0, 0]] * (blocks.shape.num_elements() or 0) if base_paddings is None else base_paddings
        base = ops.reshape(convert_to_tensor(given, int32, "base_paddings"), shape=(-1, 2))
        before, after = base[:, 0], base[:, 1]
        missing = -(shape + before + after) % blocks
        paddings = ops.stack([before, after + missing], axis=1, name="paddings")
        return paddings, ops.stack([ops.zeros_like(missing), missing], axis=1, name="crops")


def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
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


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Tensor:
    """Return windows of images, each as one pixel whose depth holds its elements in row-major order.

    Args:
        images: Images of shape [batch, rows, columns, depth].
        sizes: The size of a window, [1, rows, columns, 1].
        strides: The distance between windows, [1, rows, columns, 1].
        rates: The distance between elements of a window, [1, rows, columns, 1].
        padding: "SAME" or "VALID".
        name: The name of the operation.

    >>> x = sg.reshape(sg.range(4), [1, 2, 2, 1])
    >>> patches = sg.image.extract_patches(x, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    >>> sg.Session().run(patches).tolist()
    [[[[0, 1, 2, 3]]]]
    """
    return extract_image_patches(images, sizes, strides, rates, padding, name)


def extract_volume_patches(
    input: Any, ksizes: Any, strides: Any, padding: str, name: str | None = None
) -> Tensor:
    """Return windows of volumes, each as one point whose depth holds its elements in row-major order.

    Args:
        input: Volumes of shape [batch, planes, rows, columns, depth].
        ksizes: The size of a window, [1, planes, rows, columns, 1].
        strides: The steps between windows, in the same form.
        padding: SAME or VALID.
        name: The name of the operation.

    Raises:
        ShapeError: If sizes or steps are of another form.

    >>> x = sg.reshape(sg.range(8), [1, 2, 2, 2, 1])
    >>> patches = sg.extract_volume_patches(x, [1, 2, 1, 2, 1], [1, 1, 1, 1, 1], "VALID")
    >>> sg.Session().run(patches[0, 0, :, 0])
    array([[0, 1, 4, 5],
           [2, 3, 6, 7]], dtype=int32)
    """
    return ops.extract_volume_patches(
        input, ksizes=tuple(ksizes), strides=tuple(strides), padding=padding, name=name
    )
