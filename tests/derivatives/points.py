"""Points to compare derivatives of ops at: the samples of the registry, and points that samples avoid.

Those have zeros, equal elements, whole numbers, repeated indices, axes of size 0 and 1, or another value of
an attribute. An op refuses what makes no sense for it, and has no derivative at some of the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from staticgraph.compiler.graph.dtypes import complex128, float64
from staticgraph.compiler.graph.opdef import Kind, OpDef
from staticgraph.compiler.ops.samples import Draw, Range, Sample
from tests.ops.harness import Use, dtype_choices, uses

# The values of an attribute that has few, by its name.
CHOICES = {
    "padding": ["SAME", "VALID"],
    "data_format": ["NHWC", "NCHW"],
    "mode": ["REFLECT", "SYMMETRIC"],
    "method": ["bilinear", "nearest"],
}
_GRID = np.array([-3.0, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 6.0, 20.0])


def exact_choices(op: OpDef) -> list[dict[str, object]]:
    """The dtypes of an op in which derivatives are compared."""
    choices = list(dtype_choices(op))
    return [c for c in choices if c.get("T") in (float64, complex128)] or choices[:1]


def differentiable_uses(op: OpDef, deep: bool = True) -> Iterator[Use]:
    """Uses of an op at its samples, and at other points: all of them if `deep`, else a few."""
    for choice in exact_choices(op):
        plain = [use for use in uses(op, choice) if any(d.is_differentiable for d in use.dtypes)]
        yield from plain if deep else plain[::2]
        yield from itertools.islice(_varied(plain), 0, None, 1 if deep else 24)


def grid_use(op: OpDef) -> Use | None:
    """An elementwise op at every combination of special values, or None for another op."""
    choices = exact_choices(op)
    if op.kind is not Kind.ELEMENTWISE or not choices or not isinstance(op.samples, Range):
        return None
    [first, *_] = uses(op, choices[0])
    count = sum(d is float64 for d in first.dtypes)
    numbers = iter(np.meshgrid(*[_GRID] * count, indexing="ij"))
    size = (len(_GRID),) * count
    rng = np.random.default_rng(1)
    arrays = tuple(
        next(numbers).copy()
        if d is float64
        else np.broadcast_to(a.ravel()[rng.integers(a.size, size=size)], size)
        for a, d in zip(first.arrays, first.dtypes, strict=True)
    )
    return Use(op, first.sample, arrays, first.dtypes)


def _varied(plain: list[Use]) -> Iterator[Use]:
    for use in plain:
        for attrs in _attributes(use):
            yield Use(use.op, Sample(*use.sample.draws, **attrs), use.arrays, use.dtypes)
        for arrays in _values(use):
            yield Use(use.op, use.sample, arrays, use.dtypes)
        yield from _sizes(use)


def _attributes(use: Use) -> Iterator[dict[str, object]]:
    """The attributes of a use with one of them changed."""
    given = use.sample.attrs
    rank = max((a.ndim for a in use.arrays), default=0)
    for param in use.op.params:
        name, value = param.name, given.get(param.name, param.default)
        others: list[object] = []
        if isinstance(value, bool):
            others = [not value]
        elif name in CHOICES and value in CHOICES[name]:
            others = [c for c in CHOICES[name] if c != value]
        elif name == "axis" and (isinstance(value, int) or value is None):
            others = [axis for axis in range(-rank, rank) if axis != value]
        yield from (given | {name: other} for other in others)


def _values(use: Use) -> Iterator[tuple[np.ndarray, ...]]:
    """The arrays of a use with special elements: those of one array, or of all."""
    floats = [i for i, d in enumerate(use.dtypes) if d in (float64, complex128) and use.arrays[i].size]
    whole = [i for i, d in enumerate(use.dtypes) if d.is_integer and use.arrays[i].size > 1]

    def changed(places: list[int], change) -> tuple[np.ndarray, ...]:
        return tuple(change(a) if i in places else a for i, a in enumerate(use.arrays))

    groups = [[i] for i in floats] + ([floats] if len(floats) > 1 else [])
    for places in groups:
        for change in CHANGES.values():
            yield changed(places, change)
    if whole:
        yield changed(whole, lambda a: np.full_like(a, a.ravel()[0]))


def _one_zero(a: np.ndarray) -> np.ndarray:
    return np.where(np.arange(a.size).reshape(a.shape) == 0, 0, a)


def _two_zeros(a: np.ndarray) -> np.ndarray:
    return np.where(np.arange(a.size).reshape(a.shape) < 2, 0, a)


def _all_zero(a: np.ndarray) -> np.ndarray:
    return np.zeros_like(a)


def _equal(a: np.ndarray) -> np.ndarray:
    return np.full_like(a, a.ravel()[0])


def _ties(a: np.ndarray) -> np.ndarray:
    """Every element twice, one after the other."""
    return a.ravel()[np.arange(a.size) // 2].reshape(a.shape)


def _sizes(use: Use) -> Iterator[Use]:
    """The use with every axis of one size made shorter, in all arrays: of size 1, and 0."""
    for size, other in itertools.product(sorted({n for a in use.arrays for n in a.shape} - {0, 1}), (1, 0)):
        draws = [
            Draw(tuple(other if n == size else n for n in d.shape), d.low, d.high, d.distinct, d.dtype)
            for d in use.sample.draws
        ]
        rng = np.random.default_rng(size)
        arrays = tuple(t.round(d.values(t, rng)) for d, t in zip(draws, use.dtypes, strict=True))
        yield Use(use.op, Sample(*draws, **use.sample.attrs), arrays, use.dtypes)


CHANGES = {
    "a zero": _one_zero,
    "two zeros": _two_zeros,
    "zeros": _all_zero,
    "all equal": _equal,
    "pairs": _ties,
    "whole numbers": np.rint,
}
