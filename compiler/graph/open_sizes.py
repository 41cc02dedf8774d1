"""Open sizes, such as a batch that is known when a step runs: the symbols that they consist of.

Their arithmetic is that of `sizes.py`. Here a size is taken apart: which symbols it depends on, other sizes
in their place, its value as a function of theirs, and plain data for files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from staticgraph.compiler.graph.sizes import (
    AnySize,
    AtLeastOne,
    AtMost,
    Atom,
    Monomial,
    Quotient,
    Size,
    at_least,
    at_most,
    bounds,
    evaluate,
    inner,
    made,
    positive,
    product,
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


def lesser(a: AnySize, b: AnySize) -> AnySize:
    """Return the lesser one of two sizes.

    >>> from staticgraph.compiler.graph.sizes import symbol
    >>> evaluate(lesser(symbol("n"), symbol("m") * 2), {"n": 5, "m": 2})
    4
    """
    if not isinstance(b, Size):
        return at_most(a, b)
    if not isinstance(a, Size):
        return at_most(b, a)
    most = min(bounds(a)[1], bounds(b)[1])
    return at_most(b + 1 - positive(b - a + 1), most)  # of a difference, bounds say less


def greater(a: AnySize, b: AnySize) -> AnySize:
    """Return the greater one of two sizes.

    >>> from staticgraph.compiler.graph.sizes import symbol
    >>> greater(symbol("n"), 1), evaluate(greater(symbol("n"), symbol("m") * 2), {"n": 5, "m": 2})
    (max(n, 1), 5)
    """
    if not isinstance(b, Size):
        return at_least(a, b)
    return at_least(b, a) if not isinstance(a, Size) else a - 1 + positive(b - a + 1)


def has_choice(size: AnySize) -> bool:
    """Return True if a size has the lesser or the greater of two in it."""
    atoms = {atom for monomial in terms_of(size) for atom in monomial if not isinstance(atom, str)}
    return any(not isinstance(atom, Quotient) or has_choice(atom.dividend) for atom in atoms)


def summed_up(size: AnySize) -> AnySize:
    """Return a size without sums over all remainders: (n0 + 1) // 2 and n0 // 2 are n0 together.

    In general, n // s + (n + 1) // s + ... + (n + s - 1) // s is n. The last quotient of such a family is
    replaced by what the others leave. Sizes are compared so for the smallest s alone: this is for places
    where large strides meet.
    """
    from staticgraph.compiler.graph.size_algebra.canonical import last_quotient  # few sizes are such sums

    atoms = {atom for monomial in terms_of(size) for atom in monomial if isinstance(atom, Quotient)}
    known: dict[Atom, AnySize] = {}
    for last in atoms:
        first = last.dividend - (last.divisor - 1)
        family = [
            each for r in range(last.divisor - 1) if (each := Quotient(first + r, last.divisor)) in atoms
        ]
        if len(family) == last.divisor - 1 and not known.keys() & {*family}:
            known[last] = made(last_quotient(terms_of(first), [(each,) for each in family]))
    return replaced(size, {}, known) if known else size


def total(sizes: Iterable[AnySize]) -> AnySize:
    """Return the sum of many sizes, whose terms are put in order once."""
    known, terms = 0, dict[Monomial, int]()
    for size in sizes:
        if not isinstance(size, Size):
            known += size
            continue
        for monomial, factor in size.terms.items():
            terms[monomial] = terms.get(monomial, 0) + factor
    if not terms:
        return known
    terms[()] = terms.get((), 0) + known
    return made(terms)


def replaced(size: AnySize, by: Mapping[str, AnySize], known: dict[Atom, AnySize] | None = None) -> AnySize:
    """Return a size with other sizes in place of symbols.

    `known` has what factors become, and is given those that are new.
    """
    if not isinstance(size, Size):
        return size
    known = {} if known is None else known
    for atom in [atom for monomial in size.terms for atom in monomial]:
        if atom not in known:
            known[atom] = _replaced(atom, by, known)
    return total([product([f, *map(known.__getitem__, m)]) for m, f in size.terms.items()])


def _replaced(atom: Atom, by: Mapping[str, AnySize], known: dict[Atom, AnySize]) -> AnySize:
    match atom:
        case Quotient():
            return replaced(atom.dividend, by, known) // atom.divisor
        case AtLeastOne():
            return positive(replaced(atom.size, by, known))
        case AtMost():
            return at_most(replaced(atom.size, by, known), atom.most)
    return by[atom] if atom in by else made({(atom,): 1})


def attribute_at(value: Any, values: Mapping[str, int]) -> Any:
    """Return an attribute of an op with the values of the open sizes in it."""
    if isinstance(value, tuple):
        return tuple(attribute_at(each, values) for each in value)
    return evaluate(value, values) if isinstance(value, Size) else value


Values = Mapping[str, int]


def function_of(size: AnySize) -> Callable[[Values], int]:
    """Return a function that gives the value of a size, as `evaluate` does.

    >>> from staticgraph.compiler.graph.sizes import at_most, symbol
    >>> function = function_of(at_most(symbol("n") // 4, 10) * 3 + symbol("n"))
    >>> function({"n": 9}), function({"n": 100})
    (15, 130)
    """
    if not isinstance(size, Size):
        return lambda values: size
    if (form := linear(size)) is not None:
        name, factor, constant = form
        return lambda values: factor * values[name] + constant
    terms = [(factor, tuple(map(_function_of_atom, atoms))) for atoms, factor in size.terms.items()]
    if len(terms) == 1:
        (factor, (first, *others)), *_ = terms
        if not others:
            return first if factor == 1 else lambda values: factor * first(values)
    return lambda values: sum([factor * math.prod([f(values) for f in atoms]) for factor, atoms in terms])


def _function_of_atom(atom: Atom) -> Callable[[Values], int]:
    match atom:
        case Quotient(divisor=divisor):
            dividend = function_of(atom.dividend)
            return lambda values: dividend(values) // divisor
        case AtLeastOne():
            positive = function_of(atom.size)
            return lambda values: max(positive(values), 1)
        case AtMost(most=most):
            bounded = function_of(atom.size)
            return lambda values: min(bounded(values), most)
    return lambda values: values[atom]


def to_data(size: AnySize) -> Any:
    """Return a size as plain numbers, lists and strings, for a file.

    >>> from staticgraph.compiler.graph.sizes import symbol
    >>> to_data(symbol("rows") * 4 + 3), to_data(5)
    ([[['rows'], 4], [[], 3]], 5)
    """
    if not isinstance(size, Size):
        return size
    return [[[_atom_data(atom) for atom in monomial], factor] for monomial, factor in size.terms.items()]


def of_data(data: Any) -> AnySize:
    """Return the size that `to_data` told of. Raises ValueError if it is none."""
    if isinstance(data, int):
        return data
    try:
        terms = [(tuple(map(_atom_of, atoms)), factor) for atoms, factor in data]
        if all(isinstance(factor, int) for _, factor in terms):
            return made(dict(terms))
    except (TypeError, RecursionError):
        pass
    raise ValueError("a size is a number or a list of terms")


def _atom_data(atom: Atom) -> Any:
    match atom:
        case Quotient():
            return ["//", to_data(atom.dividend), atom.divisor]
        case AtLeastOne():
            return ["max", to_data(atom.size)]
        case AtMost():
            return ["min", to_data(atom.size), atom.most]
    return atom


def _atom_of(data: Any) -> Atom:
    match data:
        case str():
            return data
        case ["//", inner, int(divisor)] if divisor > 0 and isinstance(size := of_data(inner), Size):
            return Quotient(size, divisor)
        case ["max", inner] if isinstance(size := of_data(inner), Size):
            return AtLeastOne(size)
        case ["min", inner, int(most)] if isinstance(size := of_data(inner), Size):
            return AtMost(size, most)
    raise ValueError("a size consists of names, quotients and sizes that are at least 1")
