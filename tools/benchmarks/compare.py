"""Comparison of peers: a few numbers that stand for what each step returned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

TOLERANCE = 1e-3

Summary = list[
    list[float]
]  # per value that a step returned; of an array its mean, mean magnitude, three elements


def summary(result: Any) -> Summary:
    """The numbers for what one step returned: a number, an array, or a tuple of them."""
    made = []
    for value in result if isinstance(result, tuple) else (result,):
        array = np.asarray(value)
        if array.dtype.kind == "c":
            array = np.stack([array.real, array.imag])
        flat = array.astype(np.float64).ravel()
        if np.ndim(value) == 0:
            made.append([float(flat[0])])
        else:
            picked = (flat.mean(), np.abs(flat).mean(), flat[0], flat[flat.size // 3], flat[-1])
            made.append([float(number) for number in picked])
    return made


def difference(ours: list[Summary], theirs: list[Summary]) -> float:
    """The largest relative difference, over all steps; infinite where the results have other forms.

    An element of an array counts relative to a tenth of the mean magnitude at least, a mean to a
    hundredth: what is left after cancellation says nothing.
    """
    try:
        return max(
            _relative(a, b, values)
            for step, other in zip(ours, theirs, strict=True)
            for numbers, values in zip(step, other, strict=True)
            for a, b in zip(enumerate(numbers), values, strict=True)
        )
    except ValueError:
        return math.inf


def _relative(place: tuple[int, float], expected: float, values: list[float]) -> float:
    index, number = place
    if not (math.isfinite(number) and math.isfinite(expected)):
        return math.inf
    scale = max(abs(expected), 1e-12)
    if len(values) > 1:
        scale = max(scale, values[1] * (0.1 if index else 0.01))
    return abs(number - expected) / scale
