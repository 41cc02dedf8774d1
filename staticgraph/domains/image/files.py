"""Image files inside a graph, with TensorFlow 1's names: part of `sg.image`."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import checked, name_scope
from staticgraph.building.inputs import convert_to_tensor
from staticgraph.building.operation_counts import constants
from staticgraph.compiler.graph.dtypes import as_dtype, int32, uint8
from staticgraph.compiler.graph.errors import require
from staticgraph.compiler.graph.graph import get_default_graph
from staticgraph.compiler.graph.recording.op_count import counted_as
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.domains.image import file_ops
from staticgraph.domains.image.intensity import convert_image_dtype
from staticgraph.random_numbers.random_ops import random_uniform


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The picture in the bytes of a JPEG file, a string: uint8 [height, width, channels].

    `channels` is 1 for gray, 3 for colours, 0 for what the file has. `ratio` 1, 2, 4 or 8 divides height and
    width. The other arguments change nothing. A file that cannot be read is an InvalidArgumentError while
    running. Needs Pillow: pip install "staticgraph[images]".

    >>> import staticgraph as sg
    >>> sg.image.decode_jpeg(sg.placeholder(sg.string, []), channels=3)
    <sg.Tensor 'DecodeJpeg:0' shape=(?, ?, 3) dtype=uint8>
    """
    return file_ops.decode_jpeg(contents, channels=channels, ratio=ratio, name=name)


def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The part `crop_window` [top, left, height, width] of a JPEG file; for the rest see `decode_jpeg`."""
    return file_ops.decode_and_crop_jpeg(contents, crop_window, channels=channels, ratio=ratio, name=name)


def decode_png(contents: Any, channels: int = 0, dtype: Any = uint8, name: str | None = None) -> Tensor:
    """The picture in the bytes of a PNG file: [height, width, channels] of uint8 or uint16.

    `channels` is 1 for gray, 3 for colours, 4 with opacity, 0 for what the file has.
    """
    return file_ops.decode_png(contents, channels=channels, dtype=as_dtype(dtype), name=name)


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """The picture in the bytes of a BMP file: uint8 [height, width, channels]."""
    return file_ops.decode_bmp(contents, channels=channels, name=name)


def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """The frames in the bytes of a GIF file: uint8 [frames, height, width, 3]."""
    return file_ops.decode_gif(contents, name=name)


def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """The picture in the bytes of a JPEG, PNG, GIF or BMP file, whichever it is.

    A GIF file gives [frames, height, width, 3], so the rank is not known, or its first frame unless
    `expand_animations`. `dtype` may be uint8, uint16, or floating, for numbers in [0, 1].
    """
    wanted = as_dtype(dtype)
    counts = 76 if wanted is uint8 else 84  # TensorFlow has a branch for each kind of file, and converts
    with name_scope(name, "decode_image"), counted_as(get_default_graph(), counts + constants(contents)):
        return file_ops.decode_image(
            contents, channels=channels or 0, dtype=wanted, expand_animations=expand_animations
        )


def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: Any = "",
    name: str | None = None,
) -> Tensor:
    """uint8 [height, width, 1 or 3] as the bytes of a JPEG file, a string.

    `format` '', 'grayscale' or 'rgb' says how many channels there must be; `quality` is from 0 to 100.
    """
    return file_ops.encode_jpeg(
        image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
        name=name,
    )


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """uint8 [height, width, 1 to 4], or uint16 with one channel, as the bytes of a PNG file, a string.

    `compression` is from 0, none, to 9, best; -1 is the usual one.
    """
    return file_ops.encode_png(
        convert_to_tensor(image, preferred_dtype=uint8, name="image"), compression=compression, name=name
    )


def extract_jpeg_shape(contents: Any, output_type: Any = int32, name: str | None = None) -> Tensor:
    """Height, width and channels of a JPEG file, which is not decoded: a vector of int32 or int64."""
    return file_ops.extract_jpeg_shape(contents, output_type=as_dtype(output_type), name=name)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Return True if a string begins with the signature of a JPEG file.

    Args:
        contents: One string.
        name: The name scope.

    Returns:
        A bool tensor, one truth value.
    """
    made = 5 + constants(contents)  # a comparison of the first characters
    with name_scope(name, "is_jpeg"), counted_as(get_default_graph(), made):
        return file_ops.is_jpeg(contents)


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """`image` as it is after being written to a JPEG file of this quality and read again."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        with counted_as(image.graph, (8 if image.dtype.is_floating else 4) + constants(jpeg_quality)):
            pixels = convert_image_dtype(image, uint8, saturate=True)
            made = file_ops.adjust_jpeg_quality(pixels, jpeg_quality)
            return convert_image_dtype(made, image.dtype, saturate=True)


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Tensor:
    """`adjust_jpeg_quality` by a number from [min, max). ValueError unless 0 <= min < max <= 100."""
    low, high = min_jpeg_quality, max_jpeg_quality
    with checked("random_jpeg_quality"):
        require(0 <= low < high <= 100, f"the qualities {low} and {high} are not in order from 0 to 100")
    return adjust_jpeg_quality(image, random_uniform([], low, high, seed=seed, dtype=int32))
