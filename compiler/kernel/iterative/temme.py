"""Coefficients of Temme's uniform expansion of the incomplete gamma functions, computed when first needed."""

from __future__ import annotations

import math
from functools import cache
from typing import Any


@cache
def coefficients(orders: int = 12, terms: int = 26) -> tuple[tuple[float, ...], ...]:
    """Return the coefficients of the power series c_k(h), from exact numbers (DLMF 8.12.10 to 8.12.14)."""
    from fractions import Fraction  # what few programs need takes milliseconds to import

    count = terms + 2 * orders + 3
    alpha = [Fraction(0), Fraction(1)]  # of m as a power series of h
    for n in range(2, count):
        products = sum(j * alpha[j] * alpha[n - j + 1] for j in range(2, n))
        alpha.append((alpha[n - 1] - products) / (n + 1))
    first = [(n + 2) * alpha[n + 2] - (1 if n == 0 else 0) for n in range(count - 2)]
    stirling = _stirling_numbers(orders)
    rows, row = [first], first
    for k in range(1, orders):
        row = [(-1) ** k * stirling[k] * first[n] + (n + 2) * row[n + 2] for n in range(count - 2 - 2 * k)]
        rows.append(row)
    return tuple(tuple(float(c) for c in row[:terms]) for row in rows)


def _stirling_numbers(count: int) -> list[Any]:
    """Return the coefficients of the asymptotic series of the scaled gamma function, by powers of 1 / a."""
    from fractions import Fraction

    bernoulli: list[Fraction] = []
    for n in range(2 * count + 2):
        total = sum((math.comb(n + 1, k) * bernoulli[k] for k in range(n)), Fraction(0))
        bernoulli.append(Fraction(1) if n == 0 else -total / (n + 1))
    logs = [Fraction(0)] * (count + 1)
    for k in range(1, count + 1):
        if k % 2:
            logs[k] = bernoulli[k + 1] / (k * (k + 1))
    made = [Fraction(1)]
    for n in range(1, count + 1):
        made.append(sum((k * logs[k] * made[n - k] for k in range(1, n + 1)), Fraction(0)) / n)
    return made
