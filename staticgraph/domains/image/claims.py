"""Image files that claim more pixels than their bytes can hold are refused before memory is taken for these.

A decoder takes memory for a whole picture first, of which a header of a few bytes may tell any size.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

from staticgraph.compiler.graph.errors import InvalidArgumentError

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
