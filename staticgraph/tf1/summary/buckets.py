"""Histograms with TensorFlow's buckets: each limit is 1.1 times the one before, on both sides of zero."""

from __future__ import annotations

import sys
from functools import cache

import numpy as np

from staticgraph.formats.tf.messages.summary import HistogramProto


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
