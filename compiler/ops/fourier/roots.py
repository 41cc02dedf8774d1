"""Roots of unity of a length that is known when a program runs, as statements of the kernel IR.

exp(-2 pi i k / n) is found in float64: a quarter of the circle is a whole number, so that what is left of
the angle is below pi / 4 and has no rounding but that of a quotient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from staticgraph.compiler.graph.dtypes import DType, float32, float64
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr

_TERMS = {float32: 5, float64: 8}  # of the power series: up to pi / 4 the next one is below rounding


def root(k: Expr, inverse: Expr, n: Expr, dtype: DType) -> tuple[Expr, Expr]:
    """The real and the imaginary part of exp(-2 pi i k / n).

    Args:
        k: A whole number, of float64, from -n to 2 n.
        inverse: 1 / n, of float64.
        n: The number of roots, of float64: at most 2 ** 50.
        dtype: That of what the results become: they are of float64, and as precise as it needs.
    """
    quarters = scalar.rint(k * 4.0 * inverse)
    angle = (k * 4.0 - quarters * n) * inverse * (math.pi / 2)
    square = angle * angle
    sine = angle * _series(square, [_inverse_factorial(2 * t + 1) for t in range(_TERMS[dtype])])
    cosine = _series(square, [_inverse_factorial(2 * t) for t in range(_TERMS[dtype] + 1)])
    is_odd = scalar.gt(_odd(quarters), 0.5)
    re = scalar.select(is_odd, sine, cosine) * (1.0 - 2.0 * _odd(scalar.floor((quarters + 1.0) * 0.5)))
    im = scalar.select(is_odd, cosine, sine) * (2.0 * _odd(scalar.floor(quarters * 0.5)) - 1.0)
    return re, im


def _inverse_factorial(n: int) -> float:
    return (-1.0) ** (n // 2) / math.factorial(n)


def _series(x: Expr, factors: Sequence[float]) -> Expr:
    found: Expr = Const(factors[-1], x.dtype)
    for factor in reversed(factors[:-1]):
        found = found * x + factor
    return found


def _odd(x: Expr) -> Expr:
    """1 for odd numbers, 0 for even ones."""
    return x - 2.0 * scalar.floor(x * 0.5)
