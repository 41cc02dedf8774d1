"""Canonical terms of open sizes, by which sizes are compared that were computed in different ways.

Quotients have small factors, and some are put in terms of others (`last_quotient`):

    3*n // 2 is n + n // 2;   (n + 1) // 2 is n - n // 2;   (n + 2) // 3 is n - n // 3 - (n + 1) // 3

The classes of `sizes.py` are arguments here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

_MOST_PARTS = 3  # quotients that stand for one

Terms = Mapping[tuple[Any, ...], int]


def canonical(terms: Terms) -> dict[tuple[Any, ...], int]:
    """Return the terms that all polynomials have that are known to be equal, in any order."""
    found: list[tuple[tuple[Any, ...], int]] = []
    left = [*terms.items()]
    while left:
        monomial, factor = left.pop()
        for place, atom in enumerate(monomial):
            if (parts := getattr(atom, "parts", None)) is not None:
                rest = (*monomial[:place], *monomial[place + 1 :])
                left += [(tuple(sorted((*rest, *m), key=str)), factor * f) for m, f in parts.items()]
                break
        else:
            found.append((monomial, factor))
    return _added(found)


def divided(terms: Terms, divisor: int, size: Any, quotient: Any) -> dict[tuple[Any, ...], int]:
    """Return the canonical terms of a quotient.

    Args:
        terms: Those of the dividend, which are canonical.
        divisor: The divisor.
        size: The class of sizes.
        quotient: The class of quotients.
    """
    whole = [(m, f // divisor) for m, f in terms.items()]
    rest = {m: f % divisor for m, f in terms.items() if m and f % divisor}
    constant = terms.get((), 0) % divisor
    if not rest:
        return _added(whole)
    if (common := math.gcd(divisor, *rest.values())) > 1:
        less = {m: f // common for m, f in rest.items()} | {(): constant // common}
        return _added([*whole, *divided(less, divisor // common, size, quotient).items()])
    if 2 * next((f for f in rest.values() if 2 * f != divisor), 0) > divisor:  # as -(-n // d) is
        opposite = {m: divisor - f for m, f in rest.items()} | {(): divisor - 1 - constant}
        less = divided(opposite, divisor, size, quotient)
        return _added([*whole, *((m, 1) for m in rest), *((m, -f) for m, f in less.items())])

    def made(constant: int) -> tuple[Any]:
        dividend = size(rest | {(): constant} if constant else rest)
        return (quotient.of_text(repr(dividend), dividend, divisor),)  # its terms are canonical

    if constant < divisor - 1 or divisor > _MOST_PARTS:
        return _added([*whole, (made(constant), 1)])
    return _added([*whole, *last_quotient(rest, map(made, range(constant))).items()])


def last_quotient(first: Terms, others: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    """Return the terms of the last one of the quotients n // d, (n + 1) // d, ... (n + d - 1) // d.

    All of them together are n (Hermite's identity).

    Args:
        first: The terms of n.
        others: The monomials of the other quotients.
    """
    return _added([*first.items(), *((monomial, -1) for monomial in others)])


def _added(terms: Iterable[tuple[tuple[Any, ...], int]]) -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = {}
    for monomial, factor in terms:
        found[monomial] = found.get(monomial, 0) + factor
    return {m: f for m, f in found.items() if f}
