"""Open sizes that are known not to be large."""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.graph.sizes import Size


class BoundedName(str):
    """The name of a symbol with its greatest value."""

    __slots__ = ("most",)
    most: int


def bounded_symbol(name: str, most: int) -> Any:
    """Return the size that a name stands for: 0 to `most`.

    Args:
        name: The name; another greatest value needs another one.
        most: The greatest value.

    >>> from staticgraph.compiler.graph.sizes import bounds
    >>> bounds(bounded_symbol("columns", 9) * 16 + 32)
    (32, 176)
    """
    bounded = BoundedName(name)
    bounded.most = most
    return Size({(bounded,): 1})
