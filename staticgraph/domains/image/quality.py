"""Differences between images, and between the neighbouring pixels of an image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from staticgraph.arrays.array_ops import pad, stack, tile
from staticgraph.arrays.array_ops import reshape as reshaped
from staticgraph.arrays.casts import cast
from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import counts_as
from staticgraph.building.sizes import Size, is_known, size_of, sizes_of
from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.shapes import broadcast
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.image.intensity import convert_image_dtype
from staticgraph.mathematics.reductions import reduce_mean, reduce_prod, reduce_sum
from staticgraph.nn.depthwise import depthwise_conv2d
from staticgraph.nn.pooling import avg_pool

_SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # those of Wang, Simoncelli and Bovik, 2003


def _of_rank(images: Any, ranks: tuple[int, ...], call: str) -> Tensor:
    images = convert_to_tensor(images, name="images")
    with checked(call):
        require(
            images.type.rank in ranks,
            f"images have shape {images.shape}, and must have {' or '.join(map(str, ranks))} axes",
        )
    return images


def _steps(images: Tensor) -> tuple[Tensor, Tensor]:
    """Return the increase from each pixel to the one below it, and to the one on its right."""
    down = images[..., 1:, :, :] - images[..., :-1, :, :]
    return down, images[..., 1:, :] - images[..., :-1, :]


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the absolute differences of neighbouring pixels, for each image.

    >>> import staticgraph as sg
    >>> sg.image.total_variation(sg.placeholder(sg.float32, [None, 28, 28, 3])).shape.as_list()
    [None]
    """
    with name_scope(name, "total_variation", [images]):
        images = _of_rank(images, (3, 4), "total_variation")
        down, right = (reduce_sum(ops.abs(step), axis=[-3, -2, -1]) for step in _steps(images))
        return down + right


@counts_as(34, "image")
def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """The differences dy to the pixels below and dx to those on the right, 0 in the last row or column.

    Both have the shape of `image`, which is [batch, height, width, channels]. ValueError for another rank.
    """
    image = _of_rank(image, (4,), "image_gradients")
    down, right = _steps(image)
    return pad(down, [[0, 0], [0, 1], [0, 0], [0, 0]]), pad(right, [[0, 0], [0, 0], [0, 1], [0, 0]])


@counts_as(20, "image")
def sobel_edges(image: Any) -> Tensor:
    """Sobel's derivatives along the height and the width, in a new last axis of size 2.

    >>> import staticgraph as sg
    >>> sg.image.sobel_edges(sg.placeholder(sg.float32, [None, 28, 28, 3])).shape.as_list()
    [None, 28, 28, 3, 2]
    """
    image = _of_rank(image, (4,), "sobel_edges")
    around = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")
    across = around[:, :, :-2] + 2 * around[:, :, 1:-1] + around[:, :, 2:]
    along = around[:, :-2] + 2 * around[:, 1:-1] + around[:, 2:]
    return stack([across[:, 2:] - across[:, :-2], along[:, :, 2:] - along[:, :, :-2]], axis=-1)


def _pair(a: Any, b: Any, max_val: Any, call: str) -> tuple[Tensor, Tensor, Tensor]:
    """Both images and the greatest value in float32, of one size. ValueError if their shapes differ."""
    a = convert_to_tensor(a, name="img1")
    b = convert_to_tensor(b, dtype=a.dtype, name="img2")
    with checked(call):
        for x in (a, b):
            require(
                x.type.rank is None or x.type.rank >= 3,
                f"an image has shape {x.shape}, and at least [height, width, channels] is needed",
            )
        if a.type.shape is not None and b.type.shape is not None:
            pairs = zip(a.type.shape[-3:], b.type.shape[-3:], strict=True)
            same = all(n is None or m is None or n == m for n, m in pairs)
            require(same, f"the images have shapes {a.shape} and {b.shape}")
            broadcast(a.type.shape[:-3], b.type.shape[:-3])
    greatest = convert_image_dtype(cast(max_val, a.dtype), float32)
    return convert_image_dtype(a, float32), convert_image_dtype(b, float32), greatest


@counts_as(35, "a", "b")
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal to noise ratio of each pair of images, in decibels.

    20 log10(max_val) - 10 log10(mean squared difference), where `max_val` is the size of the range of values.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 28, 28, 3])
    >>> sg.image.psnr(x, x * 0.9, max_val=1.0).shape.as_list()
    [None]
    """
    with name_scope(name, "PSNR", [a, b]):
        a, b, greatest = _pair(a, b, max_val, "psnr")
        error = reduce_mean(ops.squared_difference(a, b), axis=[-3, -2, -1])
        decibel = float(10 / np.log(10))
        return ops.subtract(2 * decibel * ops.log(greatest), decibel * ops.log(error), name="psnr")


def _bell(size: int, sigma: float) -> np.ndarray:
    """Weights of sum 1 in the form of a bell curve."""
    places = np.arange(size) - (size - 1) / 2
    weights = np.exp(-0.5 * (places / sigma) ** 2)
    return (weights / weights.sum()).astype(np.float32)


def _smoothed(x: Tensor, bell: np.ndarray) -> Tensor:
    """Weighted means of [n, height, width, channels] around each pixel, down and across in turn."""
    channels = size_of(x, -1)
    for shape in ((-1, 1, 1, 1), (1, -1, 1, 1)):
        x = depthwise_conv2d(x, tile(bell.reshape(shape), [1, 1, channels, 1]), [1, 1, 1, 1], "VALID")
    return x


def _similarity(
    x: Tensor, y: Tensor, greatest: Tensor, bell: np.ndarray, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """SSIM, and its part that is contrast and structure: means over the pixels, for each channel."""
    with checked("ssim"):
        for n in (size_of(x, -3), size_of(x, -2)):
            require(
                not is_known(n) or n >= len(bell),
                f"images of shape {x.shape} are smaller than the filter, which has size {len(bell)}",
            )
    c1, c2 = ops.square(k1 * greatest), ops.square(k2 * greatest)
    mean_x, mean_y = _smoothed(x, bell), _smoothed(y, bell)
    product, squares = mean_x * mean_y * 2.0, ops.square(mean_x) + ops.square(mean_y)
    luminance = (product + c1) / (squares + c1)
    shared = _smoothed(x * y, bell) * 2.0 - product
    contrast = (shared + c2) / (_smoothed(ops.square(x) + ops.square(y), bell) - squares + c2)
    return reduce_mean(luminance * contrast, axis=[-3, -2]), reduce_mean(contrast, axis=[-3, -2])


def _one_batch(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, list[Size]]:
    """Both images with their leading axes, which broadcast, as one; and the sizes of these axes."""
    if a.type.rank != 4 or b.type.rank != 4 or a.type.shape[0] != b.type.shape[0]:  # type: ignore[index]
        a, b = a + ops.zeros_like(b), b + ops.zeros_like(a)
    lead = sizes_of(a)[:-3]
    a, b = (reshaped(x, [-1, *sizes_of(x)[-3:]]) for x in (a, b))
    return a, b, lead


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of each pair of images, at most 1, of equal ones (Wang et al., 2004).

    Means, variances and covariances around each pixel, weighted by a bell curve of `filter_size` pixels with
    the standard deviation `filter_sigma`, are compared and averaged. `max_val` is the size of the range of
    values. ValueError if the images are smaller than the filter.

    >>> import staticgraph as sg
    >>> x = sg.placeholder(sg.float32, [None, 28, 28, 3])
    >>> sg.image.ssim(x, x * 0.9, max_val=1.0).shape.as_list()
    [None]
    """
    with name_scope(None, "SSIM", [img1, img2]):
        a, b, greatest = _pair(img1, img2, max_val, "ssim")
        a, b, lead = _one_batch(a, b)
        found, _ = _similarity(a, b, greatest, _bell(filter_size, filter_sigma), k1, k2)
        return _unfolded(reduce_mean(found, axis=-1), lead)


def _unfolded(x: Tensor, lead: list[Size]) -> Tensor:
    return x if len(lead) == 1 else reshaped(x, lead if lead else np.zeros(0, np.int32))


def _halved(x: Tensor) -> Tensor:
    """Means of 2 x 2 pixels; an odd last row or column is repeated first."""
    odd = [[0, size_of(x, axis) % 2] for axis in (-3, -2)]
    return avg_pool(pad(x, [[0, 0], *odd, [0, 0]], mode="SYMMETRIC"), [1, 2, 2, 1], [1, 2, 2, 1], "VALID")


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Sequence[float] = _SCALE_WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """`ssim` at several scales, each half as large as the one before, as a weighted geometric mean.

    `power_factors`: the weight of each scale. Contrast and structure count at all scales, luminance only at
    the last. ValueError if the images become smaller than the filter.
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        a, b, greatest = _pair(img1, img2, max_val, "ssim_multiscale")
        a, b, lead = _one_batch(a, b)
        bell, scales = _bell(filter_size, filter_sigma), []
        for level in range(len(power_factors)):
            if level:
                a, b = _halved(a), _halved(b)
            whole, contrast = _similarity(a, b, greatest, bell, k1, k2)
            scales.append(ops.relu(contrast))
        scales[-1] = ops.relu(whole)
        weights = np.array(power_factors, np.float32)
        combined = reduce_prod(ops.pow(stack(scales, axis=-1), weights), axis=-1)
        return _unfolded(reduce_mean(combined, axis=-1), lead)
