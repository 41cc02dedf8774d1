"""Valid random inputs of an op for tests: a few shapes, and a range of values.

`Sample(real(2, 3), real(3), axis=1)` is one use of an op; `reals(-4, 4)` is a rule from which an elementwise
op gets samples of several shapes.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Draw:
    """An array to be drawn: `values(dtype, rng)`."""

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    distinct: bool = False  # no two elements equal, and none near another: for max, sort and the like
    dtype: str = ""  # fixed dtype; empty: the dtype under test
    fixed: tuple[complex, ...] = ()  # the values themselves, where no others are meant

    def values(self, dtype: DType, rng: np.random.Generator) -> np.ndarray:
        """Values of `dtype` in [low, high]; for bool True
        and False, for unsigned only what is not negative.
        """
        n = int(np.prod(self.shape, dtype=np.int64))
        if self.fixed:
            return dtype.round(np.reshape(self.fixed, self.shape))
        if dtype.is_bool:
            return rng.integers(0, 2, self.shape).astype(bool)
        if self.distinct:
            steps = rng.permutation(n).reshape(self.shape)
            if dtype.is_integer:
                return (steps + max(0, int(dtype.min)) + (0 if dtype.is_unsigned else -(n // 2))).astype(
                    dtype.numpy
                )
            return dtype.round(self.low + (self.high - self.low) * (steps + 0.5) / max(n, 1))
        if dtype.is_integer:
            low = 0 if dtype.is_unsigned and self.low < 0 else int(np.ceil(self.low))
            return rng.integers(low, max(low, int(np.floor(self.high))) + 1, self.shape).astype(dtype.numpy)
        real = rng.uniform(self.low, self.high, self.shape)
        if dtype.is_complex:
            return dtype.round(real + 1j * rng.uniform(self.low, self.high, self.shape))
        return dtype.round(real)


class Sample:
    """One use of an op in tests: what to draw for each tensor, and the attributes."""

    def __init__(self, *draws: Draw, **attrs: Any) -> None:
        self.draws = draws
        self.attrs = attrs

    def __repr__(self) -> str:
        shown = [str(list(d.shape)) for d in self.draws] + [f"{k}={v}" for k, v in self.attrs.items()]
        return ", ".join(shown)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Draw:
    """Values of the dtype under test in [low, high]."""
    return Draw(shape, low, high)


def fixed(values: np.ndarray, dtype: str = "") -> Draw:
    """Always these values."""
    return Draw(values.shape, dtype=dtype, fixed=tuple(values.ravel().tolist()))


def distinct(*shape: int, low: float = -2.0, high: float = 2.0) -> Draw:
    """Values with no two equal: where ties have no gradient."""
    return Draw(shape, low, high, distinct=True)


def indices(*shape: int, below: int, dtype: str = "int32") -> Draw:
    """Integers in 0..below-1."""
    return Draw(shape, 0, below - 1, dtype=dtype)


def truth(*shape: int) -> Draw:
    """Booleans."""
    return Draw(shape, dtype="bool")


@dataclass(frozen=True, slots=True)
class Range:
    """The values on which an elementwise op is tested, per input: (low, high)."""

    bounds: tuple[tuple[float, float], ...] = ((-2.0, 2.0),)
    attrs: tuple[dict[str, Any], ...] = field(
        default=({},)
    )  # each set of attributes is tried with each shape
    distinct: bool = False

    def samples(self, fixed: tuple[str, ...]) -> list[Sample]:
        """Samples over equal, broadcast, scalar and empty
        shapes; `fixed` holds each input's fixed dtype or ''.
        """
        n = len(fixed)
        same: list[tuple[int, ...]] = [(3, 4), (17,), (), (2, 0)]
        mixed: list[list[tuple[int, ...]]] = (
            [[(2, 3, 4), (4,), (3, 1)], [(5, 1), (1, 3), (5, 3)], [(), (3,), (2, 1)]]
            if n > 1
            else [[(2, 3, 5)]]
        )
        shapes = [[s] * n for s in same] + [[m[i % len(m)] for i in range(n)] for m in mixed]
        bounds = [self.bounds[min(i, len(self.bounds) - 1)] for i in range(n)]
        return [
            Sample(
                *(Draw(s, *b, self.distinct, d) for s, b, d in zip(each, bounds, fixed, strict=True)),
                **attrs,
            )
            for each in shapes
            for attrs in self.attrs
        ]


def reals(low: float = -2.0, high: float = 2.0, *more: tuple[float, float], attrs: Any = ({},)) -> Range:
    """Elementwise samples with values in [low, high]; `more` gives other bounds for later inputs."""
    return Range(((low, high), *more), tuple(attrs))


def positive() -> Range:
    """Elementwise samples with positive values."""
    return Range(((0.2, 4.0),))


Samples = Range | list[Sample]
