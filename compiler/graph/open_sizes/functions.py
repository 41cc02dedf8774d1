"""Sizes as functions of the values of their symbols, for those that are evaluated again and again.

`evaluate` goes through a size each time. Here that is done once: what is left is arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from staticgraph.compiler.graph.open_sizes.symbols import linear
from staticgraph.compiler.graph.sizes import AnySize, AtLeastOne, AtMost, Atom, Quotient, Size

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
