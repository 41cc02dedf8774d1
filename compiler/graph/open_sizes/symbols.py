"""Symbols of open sizes: which ones a size depends on, and other sizes in their place."""

from __future__ import annotations

import math
from collections.abc import Mapping

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
    total,
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


def replaced(size: AnySize, by: Mapping[str, AnySize], known: dict[Atom, AnySize] | None = None) -> AnySize:
    """Return a size with other sizes in place of symbols.

    `known` has what factors become, and is given those that are new.
    """
    known = {} if known is None else known
    for atom in [atom for monomial in terms_of(size) for atom in monomial]:
        if atom not in known:
            known[atom] = _replaced(atom, by, known)
    return total([math.prod(map(known.__getitem__, m), start=f) for m, f in terms_of(size).items()])


def _replaced(atom: Atom, by: Mapping[str, AnySize], known: dict[Atom, AnySize]) -> AnySize:
    match atom:
        case Quotient():
            return replaced(atom.dividend, by, known) // atom.divisor
        case AtLeastOne():
            return positive(replaced(atom.size, by, known))
        case AtMost():
            return at_most(replaced(atom.size, by, known), atom.most)
    return by[atom] if atom in by else Size({(atom,): 1})
