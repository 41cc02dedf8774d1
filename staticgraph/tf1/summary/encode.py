"""Encoders of the values of summary ops: each makes a `Summary` message, as bytes.

Histograms have TensorFlow's buckets: each limit is 1.1 times the one before, on both sides of zero. Images
are PNG files of 8 bits to a channel, sounds are WAV files of 16 bits to a sample.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from staticgraph.compiler.graph.errors import InvalidArgumentError
from staticgraph.compiler.support.lazy_names import show_public_names
from staticgraph.formats.tf.messages.summary import HistogramProto, Summary, SummaryMetadata
from staticgraph.formats.tf.messages.tensors import make_tensor_proto
from staticgraph.formats.tf.messages.wire import BYTES, DecodeError, read_length, read_tag, skip
from staticgraph.tf1.io.wav import encode_wav

__all__ = ["audio", "histogram", "image", "merge", "scalar", "tensor", "text"]

_RED = (255, 0, 0, 255)
_TINY = 1e-6  # an image whose greatest value is below this is black


def scalar(tag: str, value: Any) -> bytes:
    """One number, kept with 32 bits.

    >>> Summary.FromString(scalar("loss", 0.5)).value[0].simple_value
    0.5
    """
    array = np.asarray(value)
    if array.size != 1:
        raise InvalidArgumentError(f"the summary {tag} is of one number, and has shape {list(array.shape)}")
    return _one(tag, simple_value=float(array.reshape(())))


def histogram(tag: str, values: Any) -> bytes:
    """The distribution of the values of an array. InvalidArgumentError if one is not finite.

    >>> Summary.FromString(histogram("weights", [1.0, 2.0])).value[0].histo.sum
    3.0
    """
    array = np.asarray(values, np.float64)
    for word, found in (("NaN", np.isnan(array)), ("infinity", np.isinf(array))):
        if found.any():
            raise InvalidArgumentError(
                f"{word} in the summary histogram {tag}: {found.sum()} of {array.size} values"
            )
    return _one(tag, histo=count(array))


def image(tag: str, tensor: Any, max_images: int = 3, bad_color: Sequence[int] = _RED) -> bytes:
    """The first `max_images` images of an array of shape `[batch, height, width, channels]`, as PNG.

    There are 1, 3 or 4 channels. A uint8 array is taken as it is. A float one is scaled image by image: if it
    has no negative value, its greatest becomes 255, else the greatest magnitude 127 around a zero at 128.
    A pixel that is not finite gets `bad_color`.

    >>> [value.tag for value in Summary.FromString(image("digit", np.ones([2, 4, 4, 1]))).value]
    ['digit/image/0', 'digit/image/1']
    """
    array = np.asarray(tensor)
    if array.ndim != 4 or array.shape[3] not in (1, 3, 4):
        raise InvalidArgumentError(
            f"the images of {tag} have shape {list(array.shape)}, not [batch, height, width, 1, 3 or 4]"
        )
    _, height, width, channels = array.shape
    summary = Summary()
    for index, pixels in enumerate(array[:max_images]):
        if pixels.dtype != np.uint8:
            pixels = _scaled(pixels, np.array(bad_color[:channels], np.uint8))
        encoded = Summary.Image(
            height=height, width=width, colorspace=channels, encoded_image_string=encode_png(pixels)
        )
        summary.value.add(tag=_numbered(tag, "image", index, max_images), image=encoded)
    return summary.SerializeToString()


def audio(tag: str, tensor: Any, sample_rate: float, max_outputs: int = 3) -> bytes:
    """The first `max_outputs` sounds of a float array of shape `[batch, frames, channels]`, as WAV.

    The last axis may be missing. Values are in [-1, 1], `sample_rate` is in frames per second.

    >>> Summary.FromString(audio("beep", np.zeros([1, 8]), 8000)).value[0].audio.content_type
    'audio/wav'
    """
    array = np.asarray(tensor, np.float32)
    if array.ndim not in (2, 3):
        raise InvalidArgumentError(
            f"the sounds of {tag} have shape {list(array.shape)}, not [batch, frames, channels]"
        )
    summary = Summary()
    for index, samples in enumerate(array[:max_outputs] if array.ndim == 3 else array[:max_outputs, :, None]):
        encoded = Summary.Audio(
            sample_rate=sample_rate,
            num_channels=samples.shape[1],
            length_frames=samples.shape[0],
            encoded_audio_string=encode_wav(samples, int(sample_rate)),
            content_type="audio/wav",
        )
        summary.value.add(tag=_numbered(tag, "audio", index, max_outputs), audio=encoded)
    return summary.SerializeToString()


def tensor(tag: str, value: Any, metadata: SummaryMetadata | bytes | None = None) -> bytes:
    """Any array, and how it is shown."""
    if isinstance(metadata, bytes):
        metadata = SummaryMetadata.FromString(metadata)
    return _one(tag, tensor=make_tensor_proto(value), metadata=metadata)


def text(tag: str, value: Any) -> bytes:
    """A string, or an array of strings, which TensorBoard shows as a table; Markdown is rendered.

    >>> Summary.FromString(text("note", "begins")).value[0].metadata.plugin_data.plugin_name
    'text'
    """
    plugin = SummaryMetadata.PluginData(plugin_name="text")
    return tensor(tag, value, SummaryMetadata(plugin_data=plugin))


def merge(summaries: Iterable[bytes]) -> bytes:
    """The values of several summaries in one. InvalidArgumentError if two have the same tag."""
    parts, seen = list(summaries), set[bytes]()
    for part in parts:
        for tag in _tags(part):
            if tag in seen:
                text = f"two of the summaries that are merged have the tag {tag.decode(errors='replace')!r}"
                raise InvalidArgumentError(text)
            seen.add(tag)
    return b"".join(parts)  # a summary is nothing but its values, one after the other


def _tags(summary: bytes) -> Iterator[bytes]:
    """The tags of a summary, whose values, which may be large, are not read."""
    try:
        for value in _fields(summary, 0, len(summary), 1):
            for start, end in _fields(summary, *value, 1):
                yield summary[start:end]
    except DecodeError as error:
        raise InvalidArgumentError(f"what is merged is not a summary: {error}") from None


def _fields(data: bytes, at: int, end: int, wanted: int) -> Iterator[tuple[int, int]]:
    """Yield the beginning and end of each length-delimited field with the number `wanted`."""
    while at < end:
        number, kind, at = read_tag(data, at, end)
        if kind == BYTES and number == wanted:
            start, at = read_length(data, at, end)
            yield start, at
        else:
            at = skip(data, kind, number, at, end, 0)


def _one(tag: str, **value: Any) -> bytes:
    summary = Summary()
    summary.value.add(tag=tag, **value)
    return summary.SerializeToString()


def _numbered(tag: str, kind: str, index: int, most: int) -> str:
    return f"{tag}/{kind}/{index}" if most > 1 else f"{tag}/{kind}"


def _scaled(pixels: np.ndarray, bad_color: np.ndarray) -> np.ndarray:
    """Pixels of floats as uint8."""
    finite = np.isfinite(pixels).all(axis=-1)
    seen = pixels[finite]
    least, greatest = (seen.min(), seen.max()) if seen.size else (0, 0)
    span, offset = (max(-least, greatest), 128) if least < 0 else (greatest, 0)
    steps = 0 if span < _TINY else 127 if offset else 255
    scale = np.asarray(steps / span if steps else 0, pixels.dtype)
    shown = np.where(finite[..., None], pixels, 0) * scale + np.asarray(offset, pixels.dtype)
    return np.where(finite[..., None], shown.astype(np.uint8), bad_color)


show_public_names(__name__)


@cache
def _limits() -> np.ndarray:
    positive, limit = [], 1e-12
    while limit < 1e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(sys.float_info.max)
    return np.array([-limit for limit in reversed(positive)] + [0.0] + positive)


def count(values: np.ndarray) -> HistogramProto:
    """Return the histogram of an array of finite values. Adjacent buckets without values are merged into one.

    >>> count(np.array([1.0, 2.0, 2.0])).num
    3.0
    """
    flat = np.asarray(values, np.float64).ravel()
    limits = _limits()
    found = HistogramProto(min=limits[-1], max=limits[0])
    if flat.size:
        found = HistogramProto(min=flat.min(), max=flat.max(), num=flat.size)
        found.sum, found.sum_squares = (_in_order(numbers) for numbers in (flat, flat * flat))
    # A value on a limit belongs to the bucket above it; the greatest number has no bucket above.
    bucket = np.minimum(np.searchsorted(limits, flat, side="right"), limits.size - 1)
    counts = np.bincount(bucket, minlength=limits.size)
    ends_run = np.append(counts[1:] > 0, True)
    kept = (counts > 0) | ends_run
    found.bucket_limit.extend(limits[kept].tolist())
    found.bucket.extend(counts[kept].astype(np.float64).tolist())
    return found


def _in_order(numbers: np.ndarray) -> float:
    """The sum, added one after the other: NumPy's own sums in pairs, which rounds otherwise."""
    return float(np.add.accumulate(numbers)[-1])


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
