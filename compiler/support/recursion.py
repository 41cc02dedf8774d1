"""A higher limit of recursion, for graphs in which loops and branches lie deep in each other."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from staticgraph.compiler.support import forks

DEEP = 8000  # calls inside of each other: some 1,000 levels, and a few megabytes of a thread's stack
_lock = forks.brief(threading.RLock())
_deep, _limit = 0, 0  # threads that need the room, and the limit without them


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Context in which functions may call each other `DEEP` levels deep."""
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
