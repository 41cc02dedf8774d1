"""Symbols of open sizes: which ones a size depends on, and other sizes in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from staticgraph.compiler.graph.sizes import (
    AnySize,
    AtLeastOne,
    AtMost,
    Atom,
    Quotient,
    Size,
    at_most,
    inner,
    positive,
    terms_of,
)


def symbols(size: AnySize) -> frozenset[str]:
    """Return the names of the symbols that a size depends on."""
    found: set[str] = set()
    for atom in {atom for monomial in terms_of(size) for atom in monomial}:
        found |= {atom} if isinstance(atom, str) else symbols(inner(atom))
    return frozenset(found)


def linear(size: AnySize) -> tuple[str, int, int] | None:
    """Return the symbol, the factor and the constant of a size such as `4*n0 + 3`; None if it is no such."""
    if not isinstance(size, Size) or len(size.terms) - (() in size.terms) != 1:
        return None
    (monomial, factor), *_ = size.terms.items()
    if len(monomial) != 1 or not isinstance(monomial[0], str):
        return None
    return monomial[0], factor, size.terms.get((), 0)


def replaced(size: AnySize, by: Mapping[str, AnySize]) -> AnySize:
    """Return a size with other sizes in place of symbols."""
    total: Any = 0
    for monomial, factor in terms_of(size).items():
        part: Any = factor
        for atom in monomial:
            part = part * _replaced(atom, by)
        total = total + part
    return total


def _replaced(atom: Atom, by: Mapping[str, AnySize]) -> AnySize:
    match atom:
        case Quotient():
            return replaced(atom.dividend, by) // atom.divisor
        case AtLeastOne():
            return positive(replaced(atom.size, by))
        case AtMost():
            return at_most(replaced(atom.size, by), atom.most)
    return by.get(atom, Size({(atom,): 1}))
