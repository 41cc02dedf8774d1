"""Write-behind of the cache: a thread writes entries when nothing has been compiled for a moment.

A compile makes some hundred entries, and to write them takes as long as a tenth of it. So they wait in
memory, where `waiting` finds them, and are written beside the steps that follow. What still waits when the
process ends is written then. A process that is killed before that loses entries, and no more.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from staticgraph.compiler.support import forks

PAUSE = 0.1  # seconds without a new entry, after which they are written
MOST = 4096  # entries that may wait
_Place = tuple[Path, str]  # the folder, and the key
_Write = Callable[[Path, str, bytes], None]

_waiting: dict[_Place, Callable[[], bytes]] = {}
_order: deque[tuple[_Place, _Write]] = deque()
_folders: set[Path] = set()  # of the entries since all were written
_writing = forks.brief(threading.Lock())  # held while one entry is written
_thread: threading.Thread | None = None
_added = 0.0  # when the last entry was


def add(where: Path, key: str, data: Callable[[], bytes], write: _Write) -> None:
    """Have `write(where, key, data())` called soon, in another thread."""
    global _added
    _added = time.monotonic()
    _folders.add(where)
    _waiting[where, key] = data
    _order.append(((where, key), write))
    if len(_order) > MOST:
        flush()
    elif _thread is None:
        _start()


def waits_for(where: Path) -> bool:
    """Return True if some entry waits to be written to a folder."""
    return where in _folders


def waiting(where: Path, key: str) -> bytes | None:
    """Return the data of an entry that is not written yet."""
    data = _waiting.get((where, key))
    return None if data is None else data()


def flush() -> None:
    """Write all that waits, and return when it is written."""
    while True:
        with _writing:
            try:
                place, write = _order.popleft()
            except IndexError:
                _folders.clear()
                return
            data = _waiting.get(place)
            if data is not None:
                write(*place, data())
                _waiting.pop(place, None)


def _start() -> None:
    global _thread
    _thread = threading.Thread(target=_run, name="staticgraph cache writer", daemon=True)
    try:
        _thread.start()
    except RuntimeError:  # the process ends, or has as many threads as it may have
        _thread = None
        flush()


def _run() -> None:
    """Write what waits, and end: the next entry starts another thread."""
    global _thread
    while (left := _added + PAUSE - time.monotonic()) > 0:
        time.sleep(left)
    flush()
    _thread = None
    if _order:  # added while this thread still counted
        _start()


def _forget() -> None:
    """Act like new in a forked process: its parent writes what waits."""
    global _thread
    _waiting.clear()
    _order.clear()
    _folders.clear()
    _thread = None


forks.in_child(_forget)
atexit.register(flush)
