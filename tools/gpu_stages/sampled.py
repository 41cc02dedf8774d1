"""Convolution in float64, at some places of its result: enough to tell which of two results is wrong."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from gpu_stages.layers import BY_FILTER, RESULT, Case
from staticgraph.runtime.state.memory import from_storage

PLACES = 256  # of a result, or of a derivative by the image
CHANNELS, TAPS = 8, 4  # of a derivative by the filter, in which each number is a long sum

Index = tuple[np.ndarray, ...]


def sampled(case: Case, numbers: dict[str, np.ndarray], worst: tuple[int, ...]) -> tuple[Index, np.ndarray]:
    """Places by chance, this one among them, and what is right there."""
    rng = np.random.default_rng(7)
    if case.kind == BY_FILTER:
        return _by_filter(case, numbers, worst, rng)
    shape = numbers["gradient" if case.kind == RESULT else "image"].shape
    at = tuple(
        np.append(rng.integers(0, extent, PLACES), place) for extent, place in zip(shape, worst, strict=True)
    )
    total = np.zeros(PLACES + 1)
    for here, others, weights in _terms(case, at):
        source = numbers["image" if case.kind == RESULT else "gradient"]
        left, right = _wide(case, source[others]), _wide(case, numbers["filter"][weights])
        total[here] += np.einsum("kc,kc->k", left, right)
    return at, total


def _terms(case: Case, at: Index) -> Iterator[tuple[np.ndarray, Index, tuple[Any, ...]]]:
    """For each tap: the places that it adds to, the pixels on the other side, and its weights."""
    layer, (image, y, x, channel) = case.layer, at
    extent = layer.size if case.kind == RESULT else layer.positions
    for a, b in itertools.product(range(layer.taps), repeat=2):
        if case.kind == RESULT:
            rows, columns = (place * layer.stride + tap - layer.before for place, tap in ((y, a), (x, b)))
            here = np.ones(len(y), bool)
        else:
            far = [place + layer.before - tap for place, tap in ((y, a), (x, b))]
            here = (far[0] % layer.stride == 0) & (far[1] % layer.stride == 0)
            rows, columns = (each // layer.stride for each in far)
        here &= (rows >= 0) & (rows < extent) & (columns >= 0) & (columns < extent)
        of = channel[here]
        weights = (a, b, slice(None), of) if case.kind == RESULT else (a, b, of)
        yield here, (image[here], rows[here], columns[here]), weights


def _by_filter(
    case: Case, numbers: dict[str, np.ndarray], worst: tuple[int, ...], rng: np.random.Generator
) -> tuple[Index, np.ndarray]:
    layer = case.layer
    taps = {(int(a), int(b)) for a, b in rng.integers(0, layer.taps, (TAPS, 2))} | {worst[:2]}
    inputs, outputs = (
        np.append(rng.choice(count, CHANNELS, replace=False), place)
        for count, place in zip((layer.inputs, layer.outputs), worst[2:], strict=True)
    )
    images = _wide(case, numbers["image"][..., inputs])
    gradients = _wide(case, numbers["gradient"][..., outputs])
    places, found = [], []
    for a, b in sorted(taps):
        (rows, tops), (columns, lefts) = (_seen(case, tap) for tap in (a, b))
        left = images[:, tops, lefts].reshape(-1, len(inputs))
        right = gradients[:, rows, columns].reshape(-1, len(outputs))
        found.append((left.T @ right).ravel())
        places += [(a, b, i, o) for i in inputs for o in outputs]
    return tuple(np.array(places).T), np.concatenate(found)


def _seen(case: Case, tap: int) -> tuple[slice, slice]:
    """The positions along an axis at which a tap meets a pixel, and these pixels."""
    stride, first = case.layer.stride, tap - case.layer.before
    start = max(0, -(first // stride))
    end = min(case.layer.positions, (case.layer.size - 1 - first) // stride + 1)
    return slice(start, end), slice(start * stride + first, (end - 1) * stride + first + 1, stride)


def _wide(case: Case, stored: np.ndarray) -> np.ndarray:
    return from_storage(np.ascontiguousarray(stored), case.dtype).astype(np.float64)
