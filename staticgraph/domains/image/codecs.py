"""Image files as bytes, and arrays of pixels: JPEG, PNG, GIF and BMP, read and written by Pillow, an extra.

A file says how large its picture is before it is decoded, and a few bytes may ask for any amount of memory,
so the size is checked first. What is wrong with a file is an InvalidArgumentError.

A decoder takes memory for a whole picture first, so files that claim more pixels than their bytes can hold
are refused. Of a coloured PNG file of 16 bits per number, Pillow gives only the upper 8. Its decoder still
does all the work, so that a small file cannot ask for minutes of Python: it is told to take the bytes of a
pixel apart in other ways than it would by itself.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import InvalidArgumentError

MAX_ELEMENTS = 1 << 29  # of one picture, or of all frames of one: 512 MiB of bytes

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
_SIGNATURES = {"JPEG": b"\xff\xd8\xff", "PNG": b"\x89PNG\r\n\x1a\n", "GIF": b"GIF8", "BMP": b"BM"}


def pillow() -> Any:
    """Return Pillow's module of images. ImportError if it is not installed."""
    try:
        from PIL import Image  # an extra
    except ImportError:
        raise ImportError(
            'image files are read and written by Pillow: pip install "staticgraph[images]"'
        ) from None
    return Image


def _check(holds: bool, text: str) -> None:
    if not holds:
        raise InvalidArgumentError(text)


@contextmanager
def opened(contents: bytes, *kinds: str) -> Iterator[Any]:
    """Open a file of one of some kinds as a picture of Pillow's, of a size that is allowed."""
    image_module, kind = pillow(), " or ".join(kinds)
    try:
        with image_module.open(io.BytesIO(contents), formats=kinds) as picture:
            _check_size(picture.width, picture.height, 4)
            check_claim(contents, picture)
            yield picture
    except (InvalidArgumentError, MemoryError):
        raise
    except image_module.DecompressionBombError as error:
        raise InvalidArgumentError(f"the {kind} file is refused: {error}") from None
    except Exception as error:  # a damaged file may raise anything from inside of a decoder
        why = "it is of another kind" if isinstance(error, image_module.UnidentifiedImageError) else error
        raise InvalidArgumentError(f"this is not a {kind} file that can be read: {why}") from None


def _check_size(width: int, height: int, channels: int, frames: int = 1) -> None:
    elements = width * height * channels * frames
    _check(
        elements <= MAX_ELEMENTS, f"a picture of {width} x {height} pixels and {frames} frames is too large"
    )


def _pixels(picture: Any, channels: int) -> np.ndarray:
    """uint8 [height, width, channels]; 0 channels: as many as the file has."""
    if not channels:
        channels = _own_channels(picture)
    if picture.mode.startswith("I"):  # 16 bits of gray: the lower ones are dropped
        picture = pillow().fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    mode = _MODES[channels]
    pixels = np.asarray(picture if picture.mode == mode else picture.convert(mode))
    return np.array(pixels.reshape(*pixels.shape[:2], channels))


def _own_channels(picture: Any) -> int:
    clear = "transparency" in picture.info
    match picture.mode:
        case "1" | "L" | "I;16" | "I" | "I;16B":
            return 2 if clear else 1
        case "LA" | "La":
            return 2
        case "RGBA" | "PA" | "RGBa":
            return 4
        case _:
            return 4 if clear else 3


def is_jpeg(contents: bytes) -> bool:
    """Return True if the bytes begin with the signature of a JPEG file."""
    return contents.startswith(_SIGNATURES["JPEG"])


def decode_picture(contents: bytes, formats: Sequence[str], mode: str) -> np.ndarray:
    """The picture of a file in one of some formats, by Pillow's names for them and for the kind of pixels."""
    with opened(contents, *formats) as picture:
        pixels = np.asarray(picture if picture.mode == mode else picture.convert(mode))
        return np.array(pixels.reshape(*pixels.shape[:2], -1))


def decode_jpeg(contents: bytes, channels: int = 0, ratio: int = 1) -> np.ndarray:
    """A JPEG file as uint8 [height, width, channels].

    `channels`: 1 for gray, 3 for colours, 0 for what the file has. `ratio` 1, 2, 4 or 8 divides height and
    width, which are rounded up.
    """
    _check(channels in (0, 1, 3), f"channels is {channels}, and must be 0, 1 or 3 for a JPEG file")
    _check(ratio in (1, 2, 4, 8), f"ratio is {ratio}, and must be 1, 2, 4 or 8")
    with opened(contents, "JPEG") as picture:
        return _pixels(_shrunk(picture, ratio), channels)


def _shrunk(picture: Any, ratio: int) -> Any:
    """The picture decoded with fewer frequencies, which is faster than to decode it all."""
    wanted = (-(-picture.width // ratio), -(-picture.height // ratio))
    if ratio > 1:
        picture.draft(picture.mode, (max(picture.width // ratio, 1), max(picture.height // ratio, 1)))
    return picture if picture.size == wanted else picture.resize(wanted, pillow().Resampling.BOX)


def decode_and_crop_jpeg(contents: bytes, crop_window: Any, channels: int = 0, ratio: int = 1) -> np.ndarray:
    """The part [top, left, height, width] of a JPEG file."""
    top, left, height, width = (int(n) for n in crop_window)
    pixels = decode_jpeg(contents, channels, ratio)
    inside = top >= 0 and left >= 0 and height > 0 and width > 0
    inside = inside and top + height <= pixels.shape[0] and left + width <= pixels.shape[1]
    _check(inside, f"crop_window {[top, left, height, width]} exceeds a picture of {list(pixels.shape[:2])}")
    return pixels[top : top + height, left : left + width].copy()


def extract_jpeg_shape(contents: bytes) -> tuple[int, int, int]:
    """Height, width and channels of a JPEG file, which is not decoded."""
    with opened(contents, "JPEG") as picture:
        return picture.height, picture.width, len(picture.getbands())


def decode_png(contents: bytes, channels: int = 0, dtype: Any = np.uint8) -> np.ndarray:
    """A PNG file as [height, width, channels] of `dtype`, uint8 or uint16.

    `channels`: 1 for gray, 2 with opacity, 3 for colours, 4 with opacity, 0 for what the file has. Numbers of
    8 bits become numbers of 16 bits by multiplication with 257; of 16 bits the lower 8 may be dropped.
    """
    _check(channels in range(5), f"channels is {channels}, and must be from 0 to 4 for a PNG file")
    deep = np.dtype(dtype) == np.uint16
    _check(deep or np.dtype(dtype) == np.uint8, f"dtype is {dtype}, and must be uint8 or uint16")
    with opened(contents, "PNG") as picture:
        if not deep:
            return _pixels(picture, channels)
        own = decode_deep_png(contents, pillow(), MAX_ELEMENTS)
        if own is None:
            return _pixels(picture, channels).astype(np.uint16) * np.uint16(257)
    return _with_channels(own, channels)


def _with_channels(pixels: np.ndarray, channels: int) -> np.ndarray:
    """uint16 pixels with other channels: gray spread over colours or made of them, opacity added or lost."""
    have = pixels.shape[2]
    if channels in (0, have):
        return pixels
    color, opacity = (pixels[..., :1], pixels[..., 1:]) if have < 3 else (pixels[..., :3], pixels[..., 3:])
    if channels < 3 <= have:
        color = np.rint(color @ np.array([[0.299], [0.587], [0.114]])).astype(np.uint16)
    elif channels >= 3 > have:
        color = np.repeat(color, 3, axis=2)
    if channels in (1, 3):
        return color
    if opacity.shape[2] == 0:
        opacity = np.full((*pixels.shape[:2], 1), 65535, np.uint16)
    return np.concatenate([color, opacity], axis=2)


def decode_bmp(contents: bytes, channels: int = 0) -> np.ndarray:
    """A BMP file as uint8 [height, width, channels]; `channels` is 0, 1, 3 or 4."""
    _check(channels in (0, 1, 3, 4), f"channels is {channels}, and must be 0, 1, 3 or 4 for a BMP file")
    with opened(contents, "BMP") as picture:
        return _pixels(picture, channels)


def decode_gif(contents: bytes) -> np.ndarray:
    """All frames of a GIF file as uint8 [frames, height, width, 3]."""
    with opened(contents, "GIF") as picture:
        frames: list[np.ndarray] = []
        while True:
            _check_size(picture.width, picture.height, 3, len(frames) + 1)
            frames.append(_pixels(picture, 3))
            try:
                picture.seek(len(frames))
            except EOFError:
                return np.stack(frames)


def decode_image(
    contents: bytes, channels: int | None = None, dtype: Any = np.uint8, expand_animations: bool = True
) -> np.ndarray:
    """A JPEG, PNG, GIF or BMP file, whichever it is.

    A GIF file gives [frames, height, width, 3], or its first frame unless `expand_animations`. `dtype` may be
    uint8, uint16, or floating, for numbers in [0, 1].
    """
    channels = channels or 0
    kind = next((kind for kind, start in _SIGNATURES.items() if contents.startswith(start)), None)
    wanted = np.dtype(dtype)
    match kind:
        case "JPEG":
            pixels = decode_jpeg(contents, channels)
        case "PNG":
            pixels = decode_png(contents, channels, np.uint8 if wanted == np.uint8 else np.uint16)
        case "GIF":
            _check(channels in (0, 3), f"channels is {channels}, and a GIF file has 3")
            pixels = decode_gif(contents)
            pixels = pixels if expand_animations else pixels[0]
        case "BMP":
            pixels = decode_bmp(contents, channels)
        case _:
            raise InvalidArgumentError("this is neither a JPEG, nor a PNG, GIF or BMP file")
    return _of_dtype(pixels, wanted)


def _of_dtype(pixels: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if pixels.dtype == dtype:
        return pixels
    if dtype.kind == "f":
        wide = np.float64 if dtype == np.float16 else dtype  # float16 has no number as large as 65535
        return np.divide(pixels, np.iinfo(pixels.dtype).max, dtype=wide).astype(dtype, copy=False)
    _check(dtype == np.uint16, f"dtype is {dtype}, and must be uint8, uint16 or floating")
    return pixels.astype(np.uint16) * np.uint16(257)


def encode_jpeg(
    image: np.ndarray,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: bytes = b"",
) -> bytes:
    """uint8 [height, width, 1 or 3] as a JPEG file.

    `format` '', 'grayscale' or 'rgb' says how many channels there must be. `quality` is from 0 to 100. The
    densities are pixels per inch ('in') or centimetre ('cm'); a picture of Pillow's is written with inches.
    """
    _check(image.dtype == np.uint8, f"the image is {image.dtype.name}, and must be uint8")
    _check(image.ndim == 3 and image.shape[2] in (1, 3), f"a JPEG file has no shape {list(image.shape)}")
    expected = {"": image.shape[2], "grayscale": 1, "rgb": 3}.get(format)
    _check(expected is not None, f"format {format!r} is none of '', 'grayscale' and 'rgb'")
    _check(expected == image.shape[2], f"format {format!r} does not fit to shape {list(image.shape)}")
    _check(0 <= quality <= 100, f"quality is {quality}, and must be from 0 to 100")
    per_inch = 2.54 if density_unit == "cm" else 1.0
    density = (round(x_density * per_inch), round(y_density * per_inch))
    options = {"xmp": xmp_metadata} if xmp_metadata else {}
    return _saved(
        image,
        "JPEG",
        quality=quality,
        progressive=progressive,
        optimize=optimize_size,
        subsampling=2 if chroma_downsampling else 0,
        dpi=density,
        **options,
    )


def encode_png(image: np.ndarray, compression: int = -1) -> bytes:
    """uint8 [height, width, 1 to 4], or uint16 [height, width, 1], as a PNG file.

    `compression` is from 0, none, to 9, best; -1 is the usual one.
    """
    _check(image.ndim == 3 and image.shape[2] in _MODES, f"a PNG file has no shape {list(image.shape)}")
    _check(-1 <= compression <= 9, f"compression is {compression}, and must be from -1 to 9")
    fits = image.dtype == np.uint8 or (image.dtype == np.uint16 and image.shape[2] == 1)
    _check(fits, f"a PNG file of {image.dtype.name} with {image.shape[2]} channels cannot be written")
    return _saved(image, "PNG", **({} if compression < 0 else {"compress_level": compression}))


def _saved(image: np.ndarray, kind: str, **options: Any) -> bytes:
    _check(image.size > 0, f"an image of shape {list(image.shape)} has no pixels")
    out = io.BytesIO()
    pixels = image[..., 0] if image.shape[2] == 1 else image
    pillow().fromarray(np.ascontiguousarray(pixels)).save(out, kind, **options)
    return out.getvalue()


_DENSEST = 1 << 12  # pixels of a byte: JPEG has at most 64 for each bit, and 12 bits of GIF tell 4096
_CHUNK = struct.Struct(">I4s")  # of a PNG file: its length and name; a checksum follows the content
_NUMBERS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of a pixel of PNG, by the type of colour
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
_AT_ONCE = 1 << 20  # bytes that are decompressed, and then dropped


def check_claim(contents: bytes, picture: Any) -> None:
    """Compare the size of a picture with its file.

    Args:
        contents: The file.
        picture: What Pillow opened, and has not decoded.

    Raises:
        InvalidArgumentError: The file is too short for so many pixels.
    """
    width, height = picture.size
    if picture.format == "PNG":
        enough = _holds(contents, _bytes_of_rows(contents, width, height))
    else:
        enough = width * height <= len(contents) * _DENSEST
    if not enough:
        text = f"this is not a {picture.format} file that can be read: it is too short"
        raise InvalidArgumentError(f"{text} for {width} x {height} pixels")


def _bytes_of_rows(contents: bytes, width: int, height: int) -> int:
    """Return the bytes of the uncompressed rows of a PNG file; a byte before each tells how it is coded."""
    depth, color, _, _, interlaced = contents[24:29]  # the header comes first
    bits = depth * _NUMBERS.get(color, 0)
    total = 0
    for left, top, across, down in _PASSES if interlaced else ((0, 0, 1, 1),):
        columns, rows = -((left - width) // across), -((top - height) // down)
        if columns > 0 < rows:
            total += rows * (1 + (columns * bits + 7) // 8)
    return total


def _holds(contents: bytes, wanted: int) -> bool:
    """Return True if so many bytes come out of the compressed part of a PNG file, as far as it is whole."""
    stream = zlib.decompressobj()
    try:
        for part in _compressed(contents):
            while part and wanted > 0:
                wanted -= len(stream.decompress(part, min(wanted, _AT_ONCE)))
                part = stream.unconsumed_tail
            if wanted <= 0:
                break
    except zlib.error:
        return wanted <= _AT_ONCE  # of a last piece the decoder says what is wrong
    return wanted <= 0


def _compressed(contents: bytes) -> Iterator[bytes]:
    at = 8  # after the signature
    while at + _CHUNK.size <= len(contents):
        length, name = _CHUNK.unpack_from(contents, at)
        at += _CHUNK.size
        if name == b"IDAT":
            yield contents[at : at + length]
        at += length + 4


_HEADER = struct.Struct(">4sIIBB")  # its name, width, height, bits of a number and type of colour
_CHECKED = slice(12, 29)  # the header, which a checksum follows
_PAIRS = {0: 4, 4: 6}  # types of colour, and those whose pixels of 8 bits have as many bytes
_COLORS = {2: "RGB", 6: "RGBA"}


def decode_deep_png(contents: bytes, image_module: Any, limit: int) -> np.ndarray | None:
    """uint16 [height, width, channels] of a PNG file of 16 bits; None for one of fewer.

    Args:
        contents: The file, which Pillow has opened once.
        image_module: `PIL.Image`.
        limit: How many numbers the picture may have.

    Raises:
        InvalidArgumentError: The picture is too large, or of an unknown type of colour.
        OSError: The file is damaged, as Pillow found.
    """
    kind, width, height, depth, color = _HEADER.unpack_from(contents, _CHECKED.start)
    if kind != b"IHDR" or depth != 16:
        return None
    channels = {0: 1, 2: 3, 4: 2, 6: 4}.get(color)
    if channels is None:
        raise InvalidArgumentError("a PNG file of 16 bits of an unknown type of colour")
    if width * height * channels > limit:
        raise InvalidArgumentError(f"a picture of {width} x {height} pixels is too large")
    if color in _COLORS:
        upper, lower = (_bytes(contents, image_module, _COLORS[color], order) for order in "BL")
        return (upper.astype(np.uint16) << 8) | lower
    with image_module.open(io.BytesIO(_relabelled(contents, _PAIRS[color])), formats=("PNG",)) as picture:
        pairs = np.array(picture)
    return pairs.view(">u2").astype(np.uint16).reshape(height, width, channels)


def _bytes(contents: bytes, image_module: Any, mode: str, order: str) -> np.ndarray:
    """Return the upper bytes of all numbers, or the lower ones.

    Pillow keeps one byte of two. The file begins each number with the upper one. Order "L" says that it
    begins with the lower one, so that Pillow keeps the other byte.
    """
    with image_module.open(io.BytesIO(contents), formats=("PNG",)) as picture:
        picture.tile = [(name, box, start, f"{mode};16{order}") for name, box, start, *_ in picture.tile]
        return np.asarray(picture)


def _relabelled(contents: bytes, color: int) -> bytes:
    """Return the file with pixels of twice as many numbers of 8 bits: its bytes mean the same to a filter."""
    out = bytearray(contents)
    out[24:26] = 8, color
    out[_CHECKED.stop : _CHECKED.stop + 4] = struct.pack(">I", zlib.crc32(out[_CHECKED]))
    return bytes(out)
