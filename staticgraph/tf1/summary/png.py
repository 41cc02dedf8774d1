"""PNG images from NumPy arrays, as far as summaries need them: 8 bits to a channel."""

from __future__ import annotations

import struct
import zlib

import numpy as np

_COLOR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # by channels: grey, grey with alpha, RGB, RGBA


def encode_png(image: np.ndarray) -> bytes:
    """A PNG file of a uint8 array of shape `[height, width, channels]`, with 1 to 4 channels.

    >>> encode_png(np.zeros([1, 1, 3], np.uint8))[1:4]
    b'PNG'
    """
    height, width, channels = image.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOR_TYPES[channels], 0, 0, 0)
    # Each row says how it was predicted from the one above; 2 is "by it", which suits most pictures.
    above = np.concatenate([np.zeros_like(image[:1]), image[:-1]])
    rows = (image - above).reshape(height, width * channels)
    filtered = np.concatenate([np.full([height, 1], 2, np.uint8), rows], axis=1)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
