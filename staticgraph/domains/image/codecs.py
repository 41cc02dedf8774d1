"""Image files as bytes, and arrays of pixels: JPEG, PNG, GIF and BMP, read and written by Pillow, an extra.

A file says how large its picture is before it is decoded, and a few bytes may ask for any amount of memory,
so the size is checked first. What is wrong with a file is an InvalidArgumentError.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.domains.image.claims import check_claim
from staticgraph.domains.image.deep_png import decode_deep_png

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
