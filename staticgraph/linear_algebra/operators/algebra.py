"""Tables of the products, adjoints, inverses and Cholesky factors of operators, by their classes.

Classes put their rules into the tables, so that the base class needs to know none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as pairs
from typing import Any, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])
_RULES: dict[str, dict[tuple[type, ...], Callable[..., Any]]] = {
    "adjoint": {},
    "cholesky": {},
    "inverse": {},
    "product": {},
}


def rule(kind: str, *classes: type) -> Callable[[Rule], Rule]:
    """Decorator: this function gives the `kind` of operators of these classes or derived ones.

    Args:
        kind: "adjoint", "cholesky", "inverse", or "product" of two operators.
        classes: The class of the operator, or the two classes of a product.
    """

    def added(function: Rule) -> Rule:
        _RULES[kind][classes] = function
        return function

    return added


def _apply(kind: str, *operators: Any) -> Any:
    """Call the rule for the nearest base classes; of two as near, that nearer to the first operator."""
    orders = pairs(*(enumerate(type(each).__mro__) for each in operators))
    found = []
    for each in orders:
        distances, classes = zip(*each, strict=True)
        if classes in _RULES[kind]:
            found.append((sum(distances), distances[0], _RULES[kind][classes]))
    return min(found, key=lambda each: each[:2])[2](*operators)


def product(left: Any, right: Any) -> Any:
    """Return the operator of a product of operators."""
    return _apply("product", left, right)


def adjoint(operator: Any) -> Any:
    """Return the operator of the conjugate transpose."""
    return _apply("adjoint", operator)


def inverse(operator: Any) -> Any:
    """Return the operator of the inverse."""
    return _apply("inverse", operator)


def cholesky(operator: Any) -> Any:
    """Return the operator of the Cholesky factor."""
    return _apply("cholesky", operator)
