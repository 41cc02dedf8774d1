"""Result of a differentiation: cotangents, or the loop that has none before its bound is known."""

from __future__ import annotations

from collections.abc import Callable

from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.support.dataclass import dataclass

Cotangents = list[Value | None]  # None if no path leads to a value


@dataclass(frozen=True, slots=True)
class Unbounded:
    """Loop whose derivative needs a bound of its trip count, which the loop does not have.

    Attributes:
        family: The family of the loop.
    """

    family: int


Vjp = Callable[..., Cotangents | Unbounded]
