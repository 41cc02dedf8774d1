"""Room for recursion that is as deep as loops and branches lie in each other."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.compiler.support import forks

_Made = TypeVar("_Made")
DEEP = 8000  # calls inside of each other: some 1,000 levels, and a few megabytes of a thread's stack
_lock = forks.brief(threading.RLock())
_deep, _limit = 0, 0  # threads that need the room, and the limit without them


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
    try:
        with _higher_limit():
            return work()
    except RecursionError:
        text = "loops and branches lie too deep in each other to be compiled"
        hint = "some 500 levels are possible: carry a list of values through one loop instead"
        raise misuse(UnimplementedError, text, hint) from None


@contextmanager
def _higher_limit() -> Iterator[None]:
    global _deep, _limit
    with _lock:
        if not _deep:
            _limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_limit, DEEP))
        _deep += 1
    try:
        yield
    finally:
        with _lock:
            _deep -= 1
            if not _deep:
                sys.setrecursionlimit(_limit)
