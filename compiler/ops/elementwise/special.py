"""The error function, the gamma function and its derivatives: special functions that are compiled."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import FLOATING
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.elementwise.exponential import exp
from staticgraph.compiler.ops.elementwise.incomplete import each, polygamma
from staticgraph.compiler.ops.kinds import elementwise
from staticgraph.compiler.ops.samples import positive, reals

# Of trigamma(x) = 1/x + 1/(2 x^2) + B2/x^3 + B4/x^5 + ..., an asymptotic series; from x = 10 on it is exact.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_STEPS = 10


def _bell(x: Any) -> Any:
    """The derivative of erf."""
    return 2 / math.sqrt(math.pi) * exp(-(x * x))


@elementwise(
    tf="Erf", numpy=each(math.erf), dtypes=FLOATING, primitive="erf", samples=reals(-3, 3),
    grad=lambda g, y, x: (g * _bell(x),),
)
def erf(x: Any) -> Any:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t * t) for t from 0 to x.

    >>> sg.Session().run(sg.erf([0.0, 1.0])).round(4)
    array([0.    , 0.8427], dtype=float32)
    """
    return scalar.erf(x)


@elementwise(
    tf="Erfc", numpy=each(math.erfc), dtypes=FLOATING, primitive="erfc", samples=reals(-3, 3),
    grad=lambda g, y, x: (-g * _bell(x),),
)
def erfc(x: Any) -> Any:
    """1 - erf(x), exact for large x too.

    >>> sg.Session().run(sg.erfc([0.0, 1.0])).round(4)
    array([1.    , 0.1573], dtype=float32)
    """
    return scalar.erfc(x)


def _lgamma(x: float) -> float:
    pole = x <= 0 and x % 1 == 0
    return math.inf if pole or math.isinf(x) else math.lgamma(x)


def _reflected(x: np.ndarray, of_positive: Callable[[np.ndarray], np.ndarray], *, order: int) -> np.ndarray:
    """A polygamma function of any number from that of positive ones: psi(1 - x) - psi(x) = pi / tan(pi x)."""
    wide = x.astype(np.float64)
    value = of_positive(np.where(wide < 0, 1 - wide, wide))
    angle = np.pi * (wide - np.floor(wide + 0.5))  # exact, unlike pi * x near a pole
    below = value - np.pi / np.tan(angle) if order == 0 else np.square(np.pi / np.sin(angle)) - value
    pole = (wide <= 0) & (wide == np.floor(wide))
    return np.where(pole, np.inf, np.where(wide < 0, below, value)).astype(x.dtype)


def _digamma_of_positive(x: np.ndarray) -> np.ndarray:
    """Digamma by recurrence up to 30, where few terms of the asymptotic series are enough."""
    w = x + 30
    series = 1 / (12 * w**2) - 1 / (120 * w**4) + 1 / (252 * w**6)
    return np.log(w) - 1 / (2 * w) - series - sum(1 / (x + k) for k in range(30))


def _trigamma_of_positive(x: np.ndarray) -> np.ndarray:
    w = x + 30
    series = 1 / (6 * w**3) - 1 / (30 * w**5) + 1 / (42 * w**7)
    return 1 / w + 1 / (2 * w**2) + series + sum(1 / np.square(x + k) for k in range(30))


@elementwise(
    tf="Trigamma", numpy=partial(_reflected, of_positive=_trigamma_of_positive, order=1), dtypes=FLOATING,
    samples=positive(), grad=lambda g, y, x: (g * polygamma(2.0, x),),
)
def trigamma(x: Any) -> Any:
    """The second derivative of lgamma, which TensorFlow calls polygamma(1, x)."""
    z = scalar.select(x < 0, 1 - x, x)
    total = 1 / (z * z)
    for k in range(1, _STEPS):
        total = total + 1 / ((z + k) * (z + k))
    v = 1 / (z + _STEPS)
    square = v * v
    series = _BERNOULLI[-1] * square
    for b in _BERNOULLI[-2::-1]:
        series = square * (series + b)
    total = total + v * (series + 0.5 * v + 1)
    past = x - scalar.floor(x + 0.5)  # exact, unlike pi * x near a pole
    reflected = math.pi / scalar.sin(math.pi * past)
    below = scalar.select(scalar.eq(x, scalar.floor(x)), math.inf, reflected * reflected - total)
    return scalar.select(x < 0, below, total)


@elementwise(
    tf="Digamma", numpy=partial(_reflected, of_positive=_digamma_of_positive, order=0), dtypes=FLOATING,
    primitive="digamma", samples=positive(), grad=lambda g, y, x: (g * trigamma(x),),
)
def digamma(x: Any) -> Any:
    """The derivative of lgamma. Infinite at 0, -1, -2, and so on.

    >>> sg.Session().run(sg.digamma([1.0, 2.0])).round(4)
    array([-0.5772,  0.4228], dtype=float32)
    """
    return scalar.digamma(x)


@elementwise(
    tf="Lgamma", numpy=each(_lgamma), dtypes=FLOATING, primitive="lgamma", samples=positive(),
    grad=lambda g, y, x: (g * digamma(x),),
)
def lgamma(x: Any) -> Any:
    """log(|gamma(x)|), where gamma(n + 1) is the factorial of n. Infinite at 0, -1, -2, and so on.

    >>> sg.Session().run(sg.lgamma([1.0, 5.0])).round(4)
    array([0.    , 3.1781], dtype=float32)
    """
    return scalar.lgamma(x)
