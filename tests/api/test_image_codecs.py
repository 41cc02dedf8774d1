"""Image files: what is written is read again, in each number of channels, and bad files are refused."""

import contextlib
import io
import struct
import time
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.image import codecs

Image = pytest.importorskip("PIL.Image")

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (7, 5, 4), np.uint8)
SMOOTH = np.add.outer(np.arange(33), np.arange(26))[..., None].astype(np.uint8) + np.array(
    [0, 60, 120], np.uint8
)


def saved(array, kind, **options):
    out = io.BytesIO()
    Image.fromarray(array.squeeze() if array.ndim == 3 else array).save(out, kind, **options)
    return out.getvalue()


def deep_png(pixels, filters):
    """A PNG file of uint16 pixels, each row stored with the filter of its number."""
    height, width, channels = pixels.shape
    step, data = 2 * channels, pixels.astype(">u2").view(np.uint8).reshape(height, -1).astype(int)
    above, rows = np.zeros(data.shape[1], int), b""
    for y, row in enumerate(data):
        left = np.concatenate([np.zeros(step, int), row[:-step]])
        corner = np.concatenate([np.zeros(step, int), above[:-step]])
        guess = left + above - corner
        near = np.abs(np.stack([guess - left, guess - above, guess - corner])).argmin(0)
        paeth = np.choose(near, [left, above, corner])
        kind = filters[y % len(filters)]
        predicted = [0 * row, left, above, (left + above) // 2, paeth][kind]
        rows += bytes([kind]) + ((row - predicted) % 256).astype(np.uint8).tobytes()
        above = row

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 16, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("compression", [-1, 0, 9])
def test_png_round_trip(channels, compression):
    image = PIXELS[..., :channels]
    assert np.array_equal(codecs.decode_png(codecs.encode_png(image, compression)), image)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_png_with_other_channels(channels):
    """Gray spreads over colours, colours make gray, opacity is full if there was none."""
    gray, color = PIXELS[..., :1], PIXELS[..., :3]
    from_gray = codecs.decode_png(codecs.encode_png(gray), channels)
    assert from_gray.shape == (7, 5, channels)
    assert (from_gray[..., :3] == gray).all()
    from_color = codecs.decode_png(codecs.encode_png(color), channels)
    if channels == 1:
        assert np.abs(from_color - color @ np.array([[0.299], [0.587], [0.114]])).max() <= 1
    else:
        assert np.array_equal(from_color[..., :3], color)
        assert channels == 3 or (from_color[..., 3] == 255).all()


def test_png_of_16_bits():
    gray = RNG.integers(0, 65536, (6, 4, 1), np.uint16)
    contents = codecs.encode_png(gray)
    assert np.array_equal(codecs.decode_png(contents, dtype=np.uint16), gray)
    assert np.array_equal(codecs.decode_png(contents), gray >> 8)
    shallow = codecs.decode_png(codecs.encode_png(PIXELS), dtype=np.uint16)
    assert np.array_equal(shallow, PIXELS.astype(np.uint16) * 257)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_deep_colours_keep_all_bits(channels):
    pixels = RNG.integers(0, 65536, (11, 6, channels), np.uint16)
    for filters in ([0], [1], [2], [3], [4], [4, 3, 2, 1, 0]):
        assert np.array_equal(codecs.decode_png(deep_png(pixels, filters), dtype=np.uint16), pixels)
    color = codecs.decode_png(deep_png(pixels, [4]), 3, np.uint16)
    assert np.array_equal(color, pixels[..., :3] if channels > 2 else np.repeat(pixels[..., :1], 3, axis=2))


@pytest.mark.parametrize("kind", [3, 4])
def test_deep_pixels_cost_no_python(kind):
    """A few kilobytes that stand for a hundred megabytes took a minute."""
    packed = deep_png(np.zeros((300, 2000, 3), np.uint16), [kind])
    begun = time.process_time()
    assert codecs.decode_png(packed, dtype=np.uint16).shape == (300, 2000, 3)
    assert time.process_time() - begun < 0.3  # 1.4 s when each byte was one step of Python


def test_fractions_are_those_of_a_division():
    every = np.arange(65536, dtype=np.uint16).reshape(256, 256, 1)
    contents = codecs.encode_png(every)
    for dtype in (np.float16, np.float32, np.float64):
        found = codecs.decode_image(contents, dtype=dtype)
        assert np.array_equal(found, (every / 65535).astype(dtype))


def test_memory_that_is_not_there_is_no_damage(monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(codecs, "_pixels", full)
    with pytest.raises(MemoryError):
        codecs.decode_png(codecs.encode_png(PIXELS))


def test_palette_is_looked_up():
    contents = saved(np.asarray(Image.fromarray(PIXELS[..., :3]).quantize(8)), "PNG")
    assert codecs.decode_png(contents).shape == (7, 5, 1)
    out = io.BytesIO()
    Image.fromarray(PIXELS[..., :3]).quantize(8).save(out, "PNG")
    assert codecs.decode_png(out.getvalue()).shape == (7, 5, 3)


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_is_near(channels):
    image = SMOOTH[..., :channels]
    contents = codecs.encode_jpeg(image, quality=100, chroma_downsampling=False)
    assert codecs.is_jpeg(contents)
    assert codecs.extract_jpeg_shape(contents) == (33, 26, channels)
    made = codecs.decode_jpeg(contents)
    assert made.dtype == np.uint8
    assert np.abs(made.astype(int) - image).max() <= 3
    assert codecs.decode_jpeg(contents, 1).shape == (33, 26, 1)
    assert codecs.decode_jpeg(contents, 3).shape == (33, 26, 3)


@pytest.mark.parametrize("ratio", [1, 2, 4, 8])
@pytest.mark.parametrize("size", [(33, 26), (1, 3), (8, 8), (15, 7)])
def test_jpeg_ratio_rounds_up(ratio, size):
    contents = codecs.encode_jpeg(SMOOTH[: size[0], : size[1]])
    assert codecs.decode_jpeg(contents, ratio=ratio).shape == (-(-size[0] // ratio), -(-size[1] // ratio), 3)


def test_part_of_a_jpeg():
    contents = codecs.encode_jpeg(SMOOTH)
    whole = codecs.decode_jpeg(contents)
    assert np.array_equal(codecs.decode_and_crop_jpeg(contents, [3, 4, 10, 9]), whole[3:13, 4:13])
    with pytest.raises(InvalidArgumentError, match="exceeds a picture of"):
        codecs.decode_and_crop_jpeg(contents, [30, 0, 10, 9])


def test_gif_has_frames():
    frames = [Image.fromarray(np.full((4, 6), n, np.uint8)) for n in (0, 80, 200)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    made = codecs.decode_gif(out.getvalue())
    assert made.shape == (3, 4, 6, 3)
    assert made[:, 0, 0, 0].tolist() == [0, 80, 200]
    assert codecs.decode_image(out.getvalue(), expand_animations=False).shape == (4, 6, 3)


@pytest.mark.parametrize("kind", ["PNG", "BMP", "JPEG"])
def test_decode_image_tells_them_apart(kind):
    contents = saved(SMOOTH, kind)
    made = codecs.decode_image(contents)
    assert made.shape == SMOOTH.shape
    assert np.abs(made.astype(int) - SMOOTH).max() <= (0 if kind != "JPEG" else 20)
    assert codecs.decode_image(contents, dtype=np.uint16).max() > 255
    floating = codecs.decode_image(contents, 1, np.float32)
    assert floating.dtype == np.float32
    assert 0 <= floating.min() <= floating.max() <= 1


def test_bmp_round_trip():
    assert np.array_equal(codecs.decode_bmp(saved(SMOOTH, "BMP")), SMOOTH)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: codecs.decode_image(b"nothing"), "neither a JPEG"),
        (lambda: codecs.decode_jpeg(b"nothing"), "not a JPEG file that can be read"),
        (lambda: codecs.decode_png(codecs.encode_png(PIXELS)[:60]), "not a PNG file that can be read"),
        (lambda: codecs.decode_jpeg(codecs.encode_jpeg(SMOOTH), 4), "channels is 4"),
        (lambda: codecs.decode_jpeg(codecs.encode_jpeg(SMOOTH), ratio=3), "ratio is 3"),
        (lambda: codecs.decode_png(codecs.encode_png(PIXELS), dtype=np.float32), "must be uint8 or uint16"),
        (lambda: codecs.encode_jpeg(PIXELS), "no shape"),
        (lambda: codecs.encode_jpeg(SMOOTH, format="grayscale"), "does not fit"),
        (lambda: codecs.encode_jpeg(SMOOTH.astype(np.float32)), "must be uint8"),
        (lambda: codecs.encode_jpeg(SMOOTH, quality=101), "from 0 to 100"),
        (lambda: codecs.encode_png(PIXELS[..., 0]), "no shape"),
        (lambda: codecs.encode_png(PIXELS.astype(np.uint16)), "cannot be written"),
        (lambda: codecs.encode_png(PIXELS[:0]), "no pixels"),
    ],
)
def test_what_is_wrong_is_said(call, text):
    with pytest.raises(InvalidArgumentError, match=text):
        call()


def test_a_huge_size_is_refused_before_memory_is_taken():
    huge = bytearray(deep_png(np.zeros((1, 1, 3), np.uint16), [0]))
    huge[16:24] = struct.pack(">II", 60000, 60000)
    huge[29:33] = struct.pack(">I", zlib.crc32(bytes(huge[12:29])))
    with pytest.raises(InvalidArgumentError):
        codecs.decode_png(bytes(huge), dtype=np.uint16)
    with pytest.raises(InvalidArgumentError, match="too large"):
        codecs.decode_deep_png(bytes(huge), Image, 1 << 20)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["PNG", "JPEG", "GIF", "BMP"]), st.integers(0, 10**6), st.integers(0, 255))
def test_damaged_files_raise_the_one_error(kind, place, byte):
    contents = bytearray(saved(SMOOTH[:9, :8], kind))
    contents[place % len(contents)] = byte
    with contextlib.suppress(InvalidArgumentError):
        codecs.decode_image(bytes(contents))
