"""Functions that a lower layer calls and an upper layer defines, such as that of `Graph.as_graph_def`.

The upper layer says which of its modules has which; a module is imported when its function is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from staticgraph.compiler.support.lazy_names import LazyTable

F = TypeVar("F", bound=Callable[..., Any])

EXTENSIONS: LazyTable[Callable[..., Any]] = LazyTable()


def extension(name: str) -> Callable[[F], F]:
    """Decorator: the function is the one that lower layers call by `name`."""

    def declare(function: F) -> F:
        EXTENSIONS[name] = function
        return function

    return declare
