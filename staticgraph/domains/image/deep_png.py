"""PNG files of 16 bits per number: libraries at hand give only 8 of a coloured one."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from staticgraph.compiler.graph.errors import InvalidArgumentError

__all__ = ["decode_deep_png"]

_START = 8  # bytes of the signature
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}  # by the file's type of colour
_SUB, _UP, _AVERAGE, _PAETH = 1, 2, 3, 4


def decode_deep_png(contents: bytes, limit: int) -> np.ndarray | None:
    """uint16 [height, width, channels] of a PNG file of 16 bits; None for one of fewer.

    InvalidArgumentError for a damaged file, an interlaced one, or one of more than `limit` numbers.
    """
    header, packed = _chunks(contents)
    width, height, depth, color, *_, interlaced = struct.unpack(">IIBBBBB", header)
    if depth != 16:
        return None
    channels = _CHANNELS.get(color)
    if channels is None or interlaced:
        raise InvalidArgumentError(
            "a PNG file of 16 bits that is interlaced, or of an unknown type of colour"
        )
    if width * height * channels > limit:
        raise InvalidArgumentError(f"a picture of {width} x {height} pixels is too large")
    step = 2 * channels
    size = height * (width * step + 1)
    try:
        data = zlib.decompressobj().decompress(packed, size + 1)
    except zlib.error as error:
        raise InvalidArgumentError(f"the PNG file is damaged: {error}") from None
    if len(data) != size:
        raise InvalidArgumentError(f"the PNG file is damaged: it holds {len(data)} bytes of {size}")
    rows = np.frombuffer(data, np.uint8).reshape(height, width * step + 1)
    out = np.zeros((height + 1, width * step), np.uint8)  # before the first row comes one of zeros
    for y, row in enumerate(rows):
        out[y + 1] = _unfiltered(int(row[0]), row[1:], out[y], step)
    return out[1:].view(">u2").astype(np.uint16).reshape(height, width, channels)


def _chunks(contents: bytes) -> tuple[bytes, bytes]:
    """The header, and the compressed pixels, of which there may be several parts."""
    header, parts, at = b"", [], _START
    while at + 8 <= len(contents):
        length, kind = struct.unpack_from(">I4s", contents, at)
        body = contents[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            header = body
        elif kind == b"IDAT":
            parts.append(body)
        at += 12 + length
    if len(header) != 13 or not parts:
        raise InvalidArgumentError("this is not a PNG file that can be read")
    return header, b"".join(parts)


def _unfiltered(kind: int, row: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    """A row of bytes, each of which was stored as its difference from a prediction."""
    if kind == _SUB:
        return np.cumsum(row.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    if kind == _UP:
        return row + above
    if kind in (_AVERAGE, _PAETH):
        predict = _mean if kind == _AVERAGE else _paeth
        out = bytearray(step) + bytearray(row.tobytes())
        before = bytes(step) + above.tobytes()
        for i in range(step, len(out)):
            out[i] = (out[i] + predict(out[i - step], before[i], before[i - step])) & 0xFF
        return np.frombuffer(out, np.uint8)[step:]
    if kind:
        raise InvalidArgumentError(f"the PNG file is damaged: there is no filter {kind}")
    return row


def _mean(left: int, up: int, corner: int) -> int:
    return (left + up) // 2


def _paeth(left: int, up: int, corner: int) -> int:
    """Whichever is nearest to left + up - corner."""
    guess = left + up - corner
    distances = abs(guess - left), abs(guess - up), abs(guess - corner)
    return (left, up, corner)[distances.index(min(distances))]
