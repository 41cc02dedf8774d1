"""The ops that read and write image files: strings on one side, pixels on the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, bool_, int32, int64, string, uint8, uint16
from staticgraph.compiler.graph.errors import DtypeError, ShapeError, require
from staticgraph.compiler.graph.shapes import Shape, TensorType
from staticgraph.compiler.ops.kinds import host
from staticgraph.domains.image import codecs

_CONTENTS = {"contents": "string"}


def _one(contents: TensorType) -> None:
    require(contents.rank in (None, 0), f"contents is {contents}, it must be one string")


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    kind = DtypeError if isinstance(value, DType) else ShapeError
    require(
        value in allowed, f"{name} is {value}, and must be one of {', '.join(map(str, allowed))}", kind=kind
    )


def _pixels(channels: int, allowed: tuple[int, ...], dtype: DType = uint8) -> TensorType:
    _one_of("channels", channels, allowed)
    return TensorType(dtype, (None, None, channels or None))


def _jpeg_type(contents: TensorType, *_: TensorType, channels: int, ratio: int) -> TensorType:
    _one(contents)
    _one_of("ratio", ratio, (1, 2, 4, 8))
    return _pixels(channels, (0, 1, 3))


@host(tf="DecodeJpeg", type=_jpeg_type, vars=_CONTENTS)
def decode_jpeg(contents: Any, *, channels: int = 0, ratio: int = 1) -> Any:
    """The picture of a JPEG file with so many `channels`, its height and width divided by `ratio`."""
    return codecs.decode_jpeg(contents[()], channels, ratio)


@host(tf="DecodeAndCropJpeg", type=_jpeg_type, vars=_CONTENTS | {"crop_window": "int32"})
def decode_and_crop_jpeg(contents: Any, crop_window: Any, *, channels: int = 0, ratio: int = 1) -> Any:
    """A part of the picture of a JPEG file with so many `channels`, divided by `ratio` before."""
    return codecs.decode_and_crop_jpeg(contents[()], crop_window, channels, ratio)


def _png_type(contents: TensorType, channels: int, dtype: DType) -> TensorType:
    _one(contents)
    _one_of("dtype", dtype, (uint8, uint16))
    return _pixels(channels, (0, 1, 3, 4), dtype)


@host(tf="DecodePng", type=_png_type, vars=_CONTENTS)
def decode_png(contents: Any, *, channels: int = 0, dtype: DType = uint8) -> Any:
    """The picture of a PNG file with so many `channels`."""
    return codecs.decode_png(contents[()], channels, dtype.numpy)


def _bmp_type(contents: TensorType, channels: int) -> TensorType:
    _one(contents)
    return _pixels(channels, (0, 1, 3, 4))


@host(tf="DecodeBmp", type=_bmp_type, vars=_CONTENTS)
def decode_bmp(contents: Any, *, channels: int = 0) -> Any:
    """The picture of a BMP file with so many `channels`."""
    return codecs.decode_bmp(contents[()], channels)


def _of_shape(dtype: DType, shape: Shape) -> Any:
    """The type rule of an op whose results all have this type."""

    def type(contents: TensorType, **_: Any) -> TensorType:
        _one(contents)
        return TensorType(dtype, shape)

    return type


@host(tf="DecodeGif", type=_of_shape(uint8, (None, None, None, 3)), vars=_CONTENTS)
def decode_gif(contents: Any) -> Any:
    """The frames of a GIF file."""
    return codecs.decode_gif(contents[()])


def _image_type(contents: TensorType, channels: int, dtype: DType, expand_animations: bool) -> TensorType:
    _one(contents)
    known = dtype in (uint8, uint16) or dtype.is_floating
    require(known, f"dtype is {dtype}, and must be uint8, uint16 or floating")
    one = _pixels(channels, (0, 1, 3, 4), dtype)
    return TensorType(dtype, None) if expand_animations else one


@host(tf="DecodeImage", type=_image_type, vars=_CONTENTS)
def decode_image(
    contents: Any, *, channels: int = 0, dtype: DType = uint8, expand_animations: bool = True
) -> Any:
    """The picture of a file of any kind with so many `channels`; with `expand_animations`, all frames."""
    return codecs.decode_image(contents[()], channels, dtype.numpy, expand_animations)


def _shape_type(contents: TensorType, output_type: DType) -> TensorType:
    _one(contents)
    _one_of("output_type", output_type, (int32, int64))
    return TensorType(output_type, (3,))


@host(tf="ExtractJpegShape", type=_shape_type, vars=_CONTENTS)
def extract_jpeg_shape(contents: Any, *, output_type: DType = int32) -> Any:
    """Height, width and channels of a JPEG file."""
    return np.array(codecs.extract_jpeg_shape(contents[()]))


@host(tf="IsJpeg", type=_of_shape(bool_, ()), vars=_CONTENTS)
def is_jpeg(contents: Any) -> Any:
    """Return True if a string begins with the signature of a JPEG file."""
    return np.bool_(codecs.is_jpeg(contents[()]))


def _file_type(image: TensorType, **_: Any) -> TensorType:
    require(image.rank in (None, 3), f"the image is {image}, it must be [height, width, channels]")
    return TensorType(string, ())


@host(tf="EncodeJpeg", type=_file_type, vars={"image": "uint8"})
def encode_jpeg(
    image: Any,
    *,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
) -> Any:
    """A picture as a JPEG file.

    `format` says what it shows, `quality` from 0 to 100 how well. It may be `progressive`; `optimize_size`
    takes longer, `chroma_downsampling` loses colours. `x_density` and `y_density` pixels are one
    `density_unit`. `xmp_metadata` goes into the file as it is.
    """
    return codecs.encode_jpeg(
        image,
        format,
        quality,
        progressive,
        optimize_size,
        chroma_downsampling,
        density_unit,
        x_density,
        y_density,
        xmp_metadata.encode(),
    )


@host(tf="EncodePng", type=_file_type, dtypes=frozenset({uint8, uint16}))
def encode_png(image: Any, *, compression: int = -1) -> Any:
    """A picture as a PNG file, with more or less `compression`."""
    return codecs.encode_png(image, compression)


@host(
    tf="AdjustJpegQuality",
    type=lambda image, quality: image,
    vars={"image": "uint8", "quality": "int32"},
)
def adjust_jpeg_quality(image: Any, quality: Any) -> Any:
    """A picture as it is after being written to a JPEG file of this quality and read again."""
    return codecs.decode_jpeg(codecs.encode_jpeg(image, quality=int(quality)), image.shape[-1])
