"""Factors of open sizes that are no symbols: quotients, and sizes that are held to a range.

Equal sizes may have different terms. Canonical ones are compared: in these, quotients have small factors, and
some are put in terms of others by Hermite's identity.

    3*n // 2 is n + n // 2;   (n + 1) // 2 is n - n // 2;   (n + 2) // 3 is n - n // 3 - (n + 1) // 3
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

_MOST_PARTS = 4  # quotients that stand for one


class _NoSymbol:
    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.key


class Quotient(_NoSymbol):
    """A size divided by a number and rounded down, if that is no polynomial."""

    __slots__ = ("dividend", "divisor", "parts")

    def __init__(self, dividend: Any, divisor: int) -> None:
        super().__init__(f"(({text_of(dividend.key)}) // {divisor})")
        self.dividend, self.divisor = dividend, divisor
        # The canonical terms of the same size; None if they are this quotient.
        self.parts: dict[Monomial, int] | None = None
        small = (0 < 2 * factor < divisor for m, factor in dividend.key.items() if m)
        if dividend.key is not dividend.terms or divisor <= _MOST_PARTS or not all(small):
            terms = _divided(dividend.key, divisor, type(dividend))
            self.parts = None if terms == {(self,): 1} else terms


class AtLeastOne(_NoSymbol):
    """A size, or 1 where that is less."""

    __slots__ = ("size",)

    def __init__(self, size: Any) -> None:
        super().__init__(f"max({text_of(size.key)}, 1)")
        self.size = size


class AtMost(_NoSymbol):
    """A size, or a number where that is less."""

    __slots__ = ("size", "most")

    def __init__(self, size: Any, most: int) -> None:
        super().__init__(f"min({text_of(size.key)}, {most})")
        self.size, self.most = size, most


Atom = str | Quotient | AtLeastOne | AtMost  # the name of a symbol, or what is no polynomial
Monomial = tuple[Atom, ...]


def text_of(terms: Mapping[Monomial, int]) -> str:
    """Return the text of a polynomial."""
    texts = []
    for monomial, factor in terms.items():
        atoms = "*".join(map(str, monomial))
        texts.append(str(factor) if not monomial else atoms if factor == 1 else f"{factor}*{atoms}")
    return " + ".join(texts).replace("+ -", "- ")


def in_order(terms: Mapping[Monomial, int]) -> dict[Monomial, int]:
    """Return terms in their order: monomials of high degree first, the constant last."""
    return {m: terms[m] for m in sorted(terms, key=_order)} if len(terms) > 1 else dict(terms)


@lru_cache(1 << 12)  # sums of the same few monomials are made again and again
def _order(monomial: Monomial) -> tuple[int, str]:
    return -len(monomial), "*".join(map(str, monomial))


def canonical(terms: dict[Monomial, int]) -> dict[Monomial, int]:
    """Return the terms that all polynomials have that are known to be equal."""
    if not any(isinstance(a, Quotient) and a.parts is not None for m in terms for a in m):
        return terms
    found: list[tuple[Monomial, int]] = []
    left = [*terms.items()]
    while left:
        monomial, factor = left.pop()
        for place, atom in enumerate(monomial):
            if isinstance(atom, Quotient) and atom.parts is not None:
                rest = (*monomial[:place], *monomial[place + 1 :])
                left += [(product(rest, m), factor * f) for m, f in atom.parts.items()]
                break
        else:
            found.append((monomial, factor))
    return in_order(_added(found))


def product(a: Monomial, b: Monomial) -> Monomial:
    """Return the product of two monomials."""
    return tuple(sorted((*a, *b), key=str))


def _added(terms: Iterable[tuple[Monomial, int]]) -> dict[Monomial, int]:
    found: dict[Monomial, int] = {}
    for monomial, factor in terms:
        found[monomial] = found.get(monomial, 0) + factor
    return {m: f for m, f in found.items() if f}


def _divided(terms: Mapping[Monomial, int], divisor: int, size: Any) -> dict[Monomial, int]:
    """The canonical terms of a quotient, given those of its dividend and the class of sizes."""
    whole = [(m, f // divisor) for m, f in terms.items()]
    rest = {m: f % divisor for m, f in terms.items() if m and f % divisor}
    constant = terms.get((), 0) % divisor
    if not rest:
        return _added(whole)
    if (common := math.gcd(divisor, *rest.values())) > 1:
        less = {m: f // common for m, f in rest.items()} | {(): constant // common}
        return _added([*whole, *_divided(less, divisor // common, size).items()])
    if 2 * next((f for f in rest.values() if 2 * f != divisor), 0) > divisor:  # as -(-n // d) is
        opposite = {m: divisor - f for m, f in rest.items()} | {(): divisor - 1 - constant}
        less = _divided(opposite, divisor, size)
        return _added([*whole, *((m, 1) for m in rest), *((m, -f) for m, f in less.items())])

    def quotient(constant: int) -> Monomial:
        made = object.__new__(Quotient)
        dividend = size(rest | {(): constant} if constant else rest)
        made.key = f"(({text_of(dividend.terms)}) // {divisor})"
        made.dividend, made.divisor, made.parts = dividend, divisor, None
        return (made,)

    if constant < divisor - 1 or divisor > _MOST_PARTS:
        return _added([*whole, (quotient(constant), 1)])
    return _added([*whole, *rest.items(), *((quotient(c), -1) for c in range(constant))])
