"""Python's collector of cyclic garbage, paused where much is made and nearly all of it stays."""

from __future__ import annotations

import gc
import threading

from staticgraph.compiler.support.forks import in_child


class collector_paused:
    """Context in which no garbage is looked for.

    Args:
        may_collect: If True, garbage of earlier pauses may be collected first, if it is much beside all that
            there is. That takes the longer the more objects there are, so it is for what takes long itself,
            such as a compile, not for an import.

    While a large graph is compiled the collector would go through all of it again and again, which takes a
    third of the time. So it is with modules that are imported: all that they make stays.
    """

    def __init__(self, may_collect: bool = True) -> None:
        self._may_collect = may_collect

    def __enter__(self) -> None:
        global _made, _limit, _pausing
        self._collecting = gc.isenabled()
        if not self._collecting:
            return
        if self._may_collect and _made > _limit:
            gc.collect()
            _made, _limit = 0, max(_LEAST, len(gc.get_objects()) // 4)
        gc.disable()
        _pausing = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        if self._collecting:
            _go_on()


_LEAST = 300_000  # objects: to look through them all takes a few hundredths of a second
_pausing = 0  # the thread that has it paused
_made, _limit = 0, _LEAST  # in pauses, since all were looked through; and with how many they are again
_frozen = False  # others have frozen objects: to ask takes as long as there are many, so it is asked no more


def _go_on() -> None:
    """Look for garbage again, as before the pause."""
    global _made, _pausing, _frozen
    _pausing = 0
    _made += gc.get_count()[0]
    _frozen = _frozen or gc.get_freeze_count() > 0
    if not _frozen:
        # What was made meanwhile becomes old without being looked at: else the next look went through it.
        gc.freeze()
        gc.unfreeze()
    gc.enable()


def _forked() -> None:
    """End the pause of a thread that a forked process does not have."""
    if _pausing not in (0, threading.get_ident()):
        _go_on()


in_child(_forked)
