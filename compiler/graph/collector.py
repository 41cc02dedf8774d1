"""Python's collector of cyclic garbage, paused where much is made and nearly all of it stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Context in which no garbage is looked for.

    While a large graph is compiled the collector would go through all of it again and again, which takes a
    third of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
