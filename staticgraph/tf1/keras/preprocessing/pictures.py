"""Pictures of Pillow from files and arrays, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.tf1.keras.settings import checked_format

FORMATS = ("PNG", "JPEG", "BMP", "PPM", "TIFF", "GIF")
SUFFIXES = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")
_MODES = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}
_INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def channels_of(color_mode: str) -> int:
    """Return the number of channels. ValueError for a mode that does not exist."""
    if color_mode not in _MODES:
        raise misuse(ValueError, f"color_mode is {shown(color_mode)}, and must be grayscale, rgb or rgba")
    return {"grayscale": 1, "rgb": 3, "rgba": 4}[color_mode]


def load_img(
    path: Any,
    grayscale: bool = False,
    color_mode: str = "rgb",
    target_size: Any = None,
    interpolation: str = "nearest",
) -> Any:
    """Return the picture of a file, as one of Pillow's.

    Args:
        path: A PNG, JPEG, BMP, PPM, TIFF or GIF file, of which the first frame is taken.
        grayscale: The old way to say `color_mode="grayscale"`.
        color_mode: "grayscale", "rgb" or "rgba".
        target_size: Height and width to resize to; None for those of the file.
        interpolation: "nearest", "bilinear", "bicubic", "hamming", "box" or "lanczos".

    Raises:
        ValueError: For a mode or an interpolation that does not exist.
        InvalidArgumentError: For a file that is no such picture, or is too large.
        ImportError: Pillow is not installed.
    """
    from staticgraph.domains.image.codecs import opened, pillow  # of all images

    mode = _MODES["grayscale" if grayscale else color_mode] if channels_of(color_mode) else ""
    with open(path, "rb") as file:
        contents = file.read()
    with opened(contents, *FORMATS) as picture:
        deep = mode == "L" and picture.mode in ("L", "I;16", "I")
        made = picture.copy() if deep else picture.convert(mode)
    if target_size is None or made.size == (target_size[1], target_size[0]):
        return made
    if interpolation not in _INTERPOLATIONS:
        allowed = ", ".join(_INTERPOLATIONS)
        raise misuse(ValueError, f"interpolation is {shown(interpolation)}, and must be one of {allowed}")
    return made.resize((target_size[1], target_size[0]), getattr(pillow().Resampling, interpolation.upper()))


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = "float32") -> np.ndarray:
    """An image as an array of three axes, [height, width, channels]; a grey one gets an axis of one."""
    made = np.asarray(img, dtype=dtype)
    if made.ndim not in (2, 3):
        raise misuse(ValueError, f"an image has two or three axes, this has the shape {made.shape}")
    made = made[..., None] if made.ndim == 2 else made
    return made if checked_format(data_format) == "channels_last" else made.transpose(2, 0, 1)


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Any:
    """Return an array of three axes as a picture of Pillow's.

    Args:
        x: An array [height, width, channels], or with channels first; 1, 3 or 4 channels.
        data_format: "channels_last" or "channels_first"; None for that of the settings.
        scale: If the elements are brought to [0, 255], the least to 0 and the largest to 255.
        dtype: Element type to compute with. Default: float32.

    Raises:
        ValueError: For another number of axes or channels.
    """
    from staticgraph.domains.image.codecs import pillow  # of all images

    array = np.asarray(x, dtype=dtype or "float32")
    if array.ndim != 3:
        raise misuse(ValueError, f"a picture has three axes, this array has the shape {array.shape}")
    if checked_format(data_format) == "channels_first":
        array = array.transpose(1, 2, 0)
    if scale:
        array = array - array.min()
        largest = array.max()
        array = (array / largest if largest else array) * 255
    channels = array.shape[2]
    if channels in (3, 4):
        return pillow().fromarray(array.astype("uint8"), "RGB" if channels == 3 else "RGBA")
    if channels != 1:
        raise misuse(ValueError, f"a picture has 1, 3 or 4 channels, this array has {channels}")
    return pillow().fromarray(array[..., 0].astype("int32" if array.max() > 255 else "uint8"))


def save_img(
    path: Any,
    x: Any,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Write an array as the file of a picture.

    Args:
        path: The file, whose ending tells its format; or an open file.
        x: An array, see `array_to_img`.
        data_format: See `array_to_img`.
        file_format: The format, such as "png", where the ending does not tell.
        scale: See `array_to_img`.
        **kwargs: Options of Pillow's `save`.
    """
    picture = array_to_img(x, data_format, scale)
    if picture.mode == "RGBA" and file_format in ("jpg", "jpeg"):
        picture = picture.convert("RGB")
    picture.save(path, format="jpeg" if file_format == "jpg" else file_format, **kwargs)
