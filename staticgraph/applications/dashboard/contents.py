"""Images, sounds, histograms and texts: read from their places in the files when they are looked at."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from staticgraph.applications.dashboard.runs import Place
from staticgraph.compiler.graph.errors import DataLossError
from staticgraph.formats.tf.messages.summary import HistogramProto, Summary
from staticgraph.formats.tf.messages.tensor import TensorProto

LARGEST = 32 << 20  # bytes of a picture, a sound or a graph; more is not read
_LARGEST_LIST = 1 << 20  # bytes of a histogram or of texts
_BARS = 40  # of a histogram on the page
_TEXT = 100_000  # characters that are shown
_STRINGS = 1000

# How a picture or a sound begins. Nothing else is sent to a browser as such, whatever the file says.
_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def read(place: Place, most: int = LARGEST) -> bytes:
    """Return the bytes of a value, if there are not more than `most`.

    Raises:
        OSError: The file cannot be read.
        DataLossError: The file is shorter than it was, or the value is too large.
    """
    if place.length > most:
        raise DataLossError(f"{place.length} bytes are too many to be shown")
    with open(place.path, "rb") as file:
        file.seek(place.start)
        data = file.read(place.length)
    if len(data) < place.length:
        raise DataLossError(f"{os.path.basename(place.path)} is shorter than it was")
    return data


def picture(place: Place) -> tuple[str, bytes]:
    """Return the type of an image, such as "image/png", and its bytes. DataLossError for other bytes."""
    encoded = Summary.Image.FromString(read(place)).encoded_image_string
    for signature, kind in _SIGNATURES.items():
        if encoded.startswith(signature):
            return kind, encoded
    raise DataLossError("the bytes are neither PNG, JPEG nor GIF")


def sound(place: Place) -> tuple[str, bytes]:
    """Return the type of a sound and its bytes. DataLossError for other bytes than those of a WAV file."""
    encoded = Summary.Audio.FromString(read(place)).encoded_audio_string
    if encoded[:4] == b"RIFF" and encoded[8:12] == b"WAVE":
        return "audio/wav", encoded
    raise DataLossError("the bytes are no WAV file")


def histogram(place: Place) -> dict[str, Any]:
    """Return a histogram as bars of equal width between its least and greatest value: `edges`, `counts`."""
    proto = HistogramProto.FromString(read(place, _LARGEST_LIST))
    limits, counts = np.array(proto.bucket_limit, float), np.array(proto.bucket, float)
    if len(limits) != len(counts) or not len(limits):
        raise DataLossError("the histogram has no buckets")
    low, high = _range(proto.min, proto.max)
    right = np.clip(np.nan_to_num(limits, nan=low), low, high)
    left = np.concatenate([[low], right[:-1]])
    right = np.maximum(right, left)
    edges = np.linspace(low, high, _BARS + 1)
    # Each bucket is spread evenly over its width; one without a width falls into one bar.
    sums = np.concatenate([[0.0], np.cumsum(np.clip(np.nan_to_num(counts), 0.0, 1e30))])
    knots = np.concatenate([left[:1], right])
    knots = np.maximum.accumulate(knots)
    bars = np.diff(np.interp(edges, *_steps(knots, sums)))
    return {"edges": edges.tolist(), "counts": np.maximum(bars, 0.0).tolist(), "number": float(sums[-1])}


def _range(low: float, high: float) -> tuple[float, float]:
    """A range of finite, different numbers."""
    low, high = (float(np.clip(np.nan_to_num(bound), -1e30, 1e30)) for bound in (low, high))
    if not low < high:
        margin = abs(low) * 1e-3 or 0.5
        low, high = low - margin, low + margin
    return low, high


def _steps(knots: np.ndarray, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Knots that ascend strictly, as an interpolation needs them: of equal ones the last sum counts."""
    last = np.flatnonzero(np.append(np.diff(knots) > 0, True))
    knots, sums = knots[last], sums[last]
    if sums[0] > 0:  # what lies at the least value itself
        width = (knots[-1] - knots[0]) or 1.0
        knots, sums = np.concatenate([[knots[0] - width * 1e-6], knots]), np.concatenate([[0.0], sums])
    return knots, sums


def text(place: Place) -> str:
    """Return texts, one below the other."""
    strings = TensorProto.FromString(read(place, _LARGEST_LIST)).string_val[:_STRINGS]
    return "\n".join(each.decode(errors="replace") for each in strings)[:_TEXT]
