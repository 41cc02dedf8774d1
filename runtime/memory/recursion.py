"""Room for recursion that is as deep as loops and branches lie in each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from staticgraph.compiler.graph.errors import UnimplementedError, misuse

_Made = TypeVar("_Made")


def with_room(work: Callable[[], _Made]) -> _Made:
    """Return `work()`. If it meets Python's limit of recursion, it is called again with a higher one.

    Args:
        work: A function that may be called twice.

    Raises:
        UnimplementedError: If that limit is met, too.
    """
    try:
        return work()
    except RecursionError:
        pass  # a graph with loops in loops in loops
    from staticgraph.compiler.support.recursion import deep_recursion  # what few programs need

    try:
        with deep_recursion():
            return work()
    except RecursionError:
        text = "loops and branches lie too deep in each other to be compiled"
        hint = "some 500 levels are possible: carry a list of values through one loop instead"
        raise misuse(UnimplementedError, text, hint) from None
