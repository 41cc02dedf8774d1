"""Image files of a few bytes that claim many pixels are refused, and take little memory for that."""

import io
import struct
import zlib
from collections.abc import Callable

import pytest

from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.image import codecs
from tests.fuzz_readers.watch import watched

Image = pytest.importorskip("PIL.Image")
MANY = 6000, 10000


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(height: int, width: int, depth: int, color: int, rows: bytes, interlaced: int = 0) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlaced)
    parts = chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def claiming(kind: str, marker: bytes, sizes: Callable[[int, int], bytes], after: int) -> bytes:
    """A file of 16 x 16 pixels, whose sizes, so many bytes after a marker, are others."""
    out = io.BytesIO()
    Image.new("RGB", (16, 16)).save(out, kind)
    made = sizes(*MANY)
    at = out.getvalue().index(marker) + after
    return out.getvalue()[:at] + made + out.getvalue()[at + len(made) :]


DAMAGED = b"\x78\x9c" + b"\xff" * 4  # in place of compressed rows

# They are made by the tests that need them: to compress one takes as long as to import this file.
FILES: dict[str, Callable[[], bytes]] = {
    "PNG of a bit": lambda: png(4521989, 7, 1, 0, bytes(20)),
    "PNG of colours": lambda: png(*MANY, 8, 2, bytes(30001 * 1000)),
    "PNG of 16 bits": lambda: png(*MANY, 16, 2, bytes(20)),
    "interlaced PNG": lambda: png(*MANY, 8, 2, bytes(20), 1),
    "PNG whose rows are damaged": lambda: png(1 << 23, 9, 8, 6, b"").replace(zlib.compress(b""), DAMAGED),
    "JPEG": lambda: claiming("JPEG", b"\xff\xc0", lambda h, w: struct.pack(">HH", h, w), 5),
    "GIF": lambda: claiming("GIF", b",", lambda h, w: struct.pack("<HH", w, h), 5),
    "BMP": lambda: claiming("BMP", b"BM", lambda h, w: struct.pack("<ii", w, h), 18),
}


@pytest.mark.parametrize("name", FILES)
def test_a_claim_is_refused_before_memory_is_taken(name: str):
    file = FILES[name]()
    with watched(len(file)), pytest.raises(InvalidArgumentError):
        codecs.decode_image(file)


@pytest.mark.parametrize(("depth", "color"), [(1, 0), (2, 0), (8, 2), (8, 4), (16, 6)])
def test_rows_that_are_missing_are_not_invented(depth: int, color: int):
    """A decoder that is given too few rows may leave the others as they are."""
    row = 1 + -(-9 * depth * {0: 1, 2: 3, 4: 2, 6: 4}[color] // 8)
    assert codecs.decode_image(png(5, 9, depth, color, bytes(5 * row))).shape[:2] == (5, 9)
    with pytest.raises(InvalidArgumentError):
        codecs.decode_image(png(5, 9, depth, color, bytes(3 * row)))
