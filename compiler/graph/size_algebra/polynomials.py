"""Division of one polynomial of open sizes by another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def divided_by(size: Any, divisor: Any, made: Callable[..., Any]) -> tuple[Any, Any]:
    """Divide terms of the highest degree as long as that leaves no fraction.

    Args:
        size: The dividend, an open size.
        divisor: The divisor, an open size too.
        made: From terms to the size that has them.

    Returns:
        The quotient, and what is left of the dividend.
    """
    left: Any = size
    whole: Any = 0
    (lead, factor), *_ = divisor.terms.items()
    while isinstance(left, type(size)):
        (first, count), *_ = left.terms.items()
        rest = list(first)
        try:
            for atom in lead:
                rest.remove(atom)
        except ValueError:
            break
        if count % factor:
            break
        part = made({tuple(rest): count // factor})
        whole, left = whole + part, left - divisor * part
    return whole, left
