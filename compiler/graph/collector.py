"""Python's collector of cyclic garbage, paused where much is made and nearly all of it stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Context in which no garbage is looked for.

    While a large graph is compiled the collector would go through all of it again and again, which takes a
    third of the time. So it is with modules that are imported: all that they make stays.
    """
    collecting = pause()
    try:
        yield
    finally:
        go_on(collecting)


def pause() -> bool:
    """Look for no garbage until `go_on`, which has to be given what this returns."""
    collecting = gc.isenabled()
    gc.disable()
    return collecting


def go_on(collecting: bool) -> None:
    """Look for garbage again, if it was done before the pause."""
    if not collecting:
        return
    if not gc.get_freeze_count():
        # What was made meanwhile becomes old without being looked at: else the next look went through it.
        gc.freeze()
        gc.unfreeze()
    gc.enable()
