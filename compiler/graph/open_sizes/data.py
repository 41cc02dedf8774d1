"""Open sizes as plain data for files."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.sizes import AnySize, AtLeastOne, AtMost, Atom, Quotient, Size, made


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
