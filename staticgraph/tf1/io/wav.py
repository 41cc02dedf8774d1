"""WAV sounds as bytes: samples of 16 bits, in any number of channels."""

from __future__ import annotations

import struct

import numpy as np

from staticgraph.compiler.graph.errors import InvalidArgumentError

_SCALE = np.float32(1 << 15)
_PCM, _BITS = 1, 16


def encode_wav(samples: np.ndarray, sample_rate: int) -> bytes:
    """A WAV file of a float array of shape `[frames, channels]` with values in [-1, 1]; others are cut off.

    >>> len(encode_wav(np.zeros([10, 2], np.float32), 8000))
    84
    """
    channels = samples.shape[1]
    scaled = samples.astype(np.float32) * _SCALE
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))  # halves away from zero
    data = np.clip(rounded, -(1 << 15), (1 << 15) - 1).astype("<i2").tobytes()
    frame = 2 * channels
    form = struct.pack("<IHHIIHH", 16, _PCM, channels, sample_rate, sample_rate * frame, frame, _BITS)
    parts = b"WAVE" + b"fmt " + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(parts)) + parts


def decode_wav(contents: bytes) -> tuple[np.ndarray, int]:
    """Return the samples of a WAV file, and how many frames a second has.

    Args:
        contents: The file.

    Returns:
        A float32 array of shape `[frames, channels]` with values in [-1, 1), and an integer.

    Raises:
        InvalidArgumentError: It is no WAV file, is cut short, or its samples have not 16 bits.

    >>> decode_wav(encode_wav(np.array([[0.5], [-1.0]]), 8000))[0].tolist()
    [[0.5], [-1.0]]
    """
    if contents[:4] != b"RIFF" or contents[8:12] != b"WAVE":
        raise InvalidArgumentError("this is no WAV file: it does not begin with RIFF and WAVE")
    form, at = b"", 12
    while at + 8 <= len(contents):
        kind, (size,) = contents[at : at + 4], struct.unpack_from("<I", contents, at + 4)
        at += 8
        if size > len(contents) - at:
            raise InvalidArgumentError(f"the WAV file ends in the middle of its part {kind!r}")
        if kind == b"fmt ":
            form = contents[at : at + size]
        elif kind == b"data":
            channels, rate = _form(form)
            data = contents[at : at + size - size % (2 * channels)]
            samples = np.frombuffer(data, "<i2").astype(np.float32) / _SCALE
            return samples.reshape(-1, channels), rate
        at += size + size % 2
    raise InvalidArgumentError("the WAV file has no samples")


def _form(form: bytes) -> tuple[int, int]:
    """Return the number of channels and of frames a second, from the part of a file that tells them."""
    if len(form) < 16:
        raise InvalidArgumentError("the WAV file does not say how its samples are stored")
    kind, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", form)
    if kind != _PCM or bits != _BITS:
        text = f"the samples of the WAV file have {bits} bits in format {kind}"
        raise InvalidArgumentError(f"{text}, and must have 16 bits in format 1, PCM")
    if channels == 0 or rate >= 1 << 31:
        raise InvalidArgumentError(f"the WAV file has {channels} channels, {rate} frames a second")
    return channels, rate
