"""WAV sounds from NumPy arrays: 16 bits to a sample."""

from __future__ import annotations

import struct

import numpy as np


def encode_wav(samples: np.ndarray, sample_rate: int) -> bytes:
    """A WAV file of a float array of shape `[frames, channels]` with values in [-1, 1]; others are cut off.

    >>> len(encode_wav(np.zeros([10, 2], np.float32), 8000))
    84
    """
    channels = samples.shape[1]
    scaled = samples.astype(np.float32) * np.float32(1 << 15)
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))  # halves away from zero
    data = np.clip(rounded, -(1 << 15), (1 << 15) - 1).astype("<i2").tobytes()
    frame = 2 * channels
    form = struct.pack("<IHHIIHH", 16, 1, channels, sample_rate, sample_rate * frame, frame, 16)
    parts = b"WAVE" + b"fmt " + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(parts)) + parts
