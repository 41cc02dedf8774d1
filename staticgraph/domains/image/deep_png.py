"""PNG files of 16 bits per number: Pillow gives only the upper 8 of a coloured one.

Pillow's decoder still does all the work, so that a small file cannot ask for minutes of Python. It is told to
take the bytes of a pixel apart in other ways than it would by itself.
"""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import InvalidArgumentError

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
