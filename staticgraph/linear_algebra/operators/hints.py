"""Hints about operators: those that follow from others, and from those of operators that one is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from staticgraph.compiler.graph.errors import misuse

Hint = bool | None
HINTS = ("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square")


def implied(
    is_non_singular: Hint, is_self_adjoint: Hint, is_positive_definite: Hint, is_square: Hint
) -> tuple[Hint, Hint]:
    """Return the hints `is_non_singular` and `is_square` that follow from all.

    Raises:
        ValueError: If hints contradict each other.
    """
    if is_positive_definite:
        if is_non_singular is False:
            raise misuse(ValueError, "a positive definite operator is always non-singular")
        is_non_singular = True
    if is_non_singular or is_self_adjoint:
        if is_square is False:
            kind = "non-singular" if is_non_singular else "self-adjoint"
            raise misuse(ValueError, f"a {kind} operator is always square")
        is_square = True
    return is_non_singular, is_square


def always(what: str, hint: str, given: Hint, holds: bool = True) -> bool:
    """Return the value of a hint that a kind of operator always has.

    Args:
        what: The kind of operator, as in "a real diagonal operator".
        hint: The name of the hint.
        given: The program's hint.
        holds: The value that it always has.

    Raises:
        ValueError: If the program's hint is another.
    """
    if given is (not holds):
        raise misuse(ValueError, f"{what} always has {hint}={holds}, not {given}")
    return holds


def of_all(operators: Iterable[Any], what: str, hint: str, given: Hint) -> Hint:
    """Return a hint that holds for a combination of operators if it holds for each of them."""
    return always(what, hint, given) if all(getattr(each, hint) for each in operators) else given


def of_one(operator: Any, what: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the hints of an operator that has those of another, such as its adjoint.

    Raises:
        ValueError: If a given hint contradicts one of the other operator.
    """
    hints = {}
    for hint in HINTS:
        own, other = given[hint], getattr(operator, hint)
        if None not in (own, other) and own != other:
            raise misuse(ValueError, f"{what} has {hint}={other}, as {operator.name} does, not {own}")
        hints[hint] = other if own is None else own
    return hints


def copied(operator: Any) -> dict[str, Any]:
    """Return the hints of an operator."""
    return {hint: getattr(operator, hint) for hint in HINTS}
