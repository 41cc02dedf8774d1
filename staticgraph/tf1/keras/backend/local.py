"""Convolutions with other weights at each place, under Keras's names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from staticgraph.arrays.array_ops import reshape, transpose
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.mathematics.products import matmul
from staticgraph.tf1.keras.settings import checked_format


def local_conv1d(
    inputs: Any, kernel: Any, kernel_size: Sequence[int], strides: Sequence[int], data_format: Any = None
) -> Tensor:
    """A convolution of sequences with other weights at each step.

    Args:
        inputs: [batch, steps, channels], or [batch, channels, steps] with "channels_first".
        kernel: [steps of the output, elements of a window, filters].
        kernel_size: The length of the windows, in a tuple.
        strides: Their distance, in a tuple.
        data_format: "channels_last" or "channels_first"; that of Keras by default.
    """
    kernel = convert_to_tensor(kernel)
    return local_conv(inputs, kernel, kernel_size, strides, kernel.shape.as_list()[:1], data_format)


def local_conv2d(
    inputs: Any,
    kernel: Any,
    kernel_size: Sequence[int],
    strides: Sequence[int],
    output_shape: Sequence[int],
    data_format: Any = None,
) -> Tensor:
    """A convolution of images with other weights at each place.

    Args:
        inputs: [batch, rows, columns, channels], or [batch, channels, rows, columns] with "channels_first".
        kernel: [places of the output, elements of a window, filters].
        kernel_size: The size of the windows.
        strides: Their distances.
        output_shape: The numbers of rows and of columns of the output.
        data_format: "channels_last" or "channels_first"; that of Keras by default.
    """
    return local_conv(inputs, kernel, kernel_size, strides, output_shape, data_format)


def local_conv(
    inputs: Any, kernel: Any, kernel_size: Sequence[int], strides: Sequence[int], sizes: Any, data_format: Any
) -> Tensor:
    """A convolution over one or two axes, with a product of each window and its own weights."""
    from staticgraph.arrays.space import extract_image_patches  # rarely used

    inputs, kernel = convert_to_tensor(inputs), convert_to_tensor(kernel)
    rank, first = len(sizes), checked_format(data_format) == "channels_first"
    images = transpose(inputs, [0, *range(2, rank + 2), 1]) if first else inputs
    channels: Any = images.shape.as_list()[-1]
    if rank == 1:
        images = images[:, :, None]
    window, distance = [[1, *part, *[1] * (3 - rank)] for part in (kernel_size, strides)]
    patches = extract_image_patches(images, window, distance, [1, 1, 1, 1], "VALID")
    elements = math.prod(kernel_size)
    if first:  # there the channels come first in a window, too
        patches = transpose(reshape(patches, [-1, math.prod(sizes), elements, channels]), [1, 0, 3, 2])
    else:
        patches = transpose(reshape(patches, [-1, math.prod(sizes), elements * channels]), [1, 0, 2])
    made = matmul(reshape(patches, [math.prod(sizes), -1, elements * channels]), kernel)
    filters = kernel.shape.as_list()[-1]
    if first:
        return reshape(transpose(made, [1, 2, 0]), [-1, filters, *sizes])
    return reshape(transpose(made, [1, 0, 2]), [-1, *sizes, filters])
