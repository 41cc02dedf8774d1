"""Interruption of a running step: by a signal such as Ctrl-C, the end of its time limit, or its session's.

Loops and long regions check the watch every few milliseconds. The watch lets Python run its signal handlers,
and reads a flag that a timer sets, or a thread that closes the session. A step that was stopped has changed
no variable.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from staticgraph.compiler.codegen.native.layouts import WatchState as Word
from staticgraph.compiler.codegen.native.watch import guarded
from staticgraph.compiler.support import forks
from staticgraph.runtime.cpu.jit import Library, load

_FUNCTIONS = {
    Word.ENSURE: "PyGILState_Ensure",
    Word.RELEASE: "PyGILState_Release",
    Word.SIGNALS: "PyErr_CheckSignals",
    Word.SAVE: "PyEval_SaveThread",
    Word.RESTORE: "PyEval_RestoreThread",
}
_GUARDED = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


_main_thread = (ctypes.c_int64 * 1)()  # its number, which alone handles signals


def _note_main_thread() -> None:
    _main_thread[0] = threading.main_thread().ident or 0


_note_main_thread()
forks.in_child(_note_main_thread)


class Watch:
    """The words that compiled code looks at.

    Attributes:
        address: Where they are.
        is_cancelled: True once the step is to run no more.
    """

    def __init__(self) -> None:
        self._words = (ctypes.c_int64 * len(Word))()
        for word, name in _FUNCTIONS.items():
            self._words[word] = _address(name)
        if sys.platform != "win32":  # numbers of threads have 32 bits there
            self._words[Word.IDENT] = _address("PyThread_get_thread_ident")
            self._words[Word.MAIN] = ctypes.addressof(_main_thread)
        self.address = ctypes.addressof(self._words)
        self._lock = forks.brief(threading.RLock())
        self._limits: object = None  # whose time is running
        self.is_cancelled = False

    @property
    def is_told(self) -> bool:
        """Return True if the step is to stop: its time is over, or it was cancelled."""
        return bool(self._words[Word.STOP])

    def time_into(self, address: int) -> None:
        """Have timed code write the time that it takes to a table of times."""
        self._words[Word.TIMES] = address

    def collectives_by(self, address: int) -> None:
        """Have steps call MPI by what is at an address."""
        self._words[Word.COLLECTIVES] = address

    def guarded(self, step: int) -> Callable[[int], int]:
        """The step at this address, as a function of the address of its table. Raises what a signal handler
        raised; returns something else than 0 where the step was stopped.
        """
        return lambda table: self.guarded_call(step, table)()

    def guarded_call(self, step: int, table: int) -> Callable[[], int]:
        """The same for a table whose address is known: a call of C alone."""
        return partial(_GUARDED(_library()[guarded.code().name]), step, table, self.address)

    def cancel(self) -> None:
        """Stop the step, now and in every later run."""
        with self._lock:
            self.is_cancelled = True
            self._words[Word.STOP] = 1

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Context in which steps are stopped after this time."""
        mine = object()
        timer = threading.Timer(seconds, self._stop, [mine])
        timer.daemon = True
        self._limits = mine
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with self._lock:  # a timer that is late must not stop the next step
                self._limits = None
                self._words[Word.STOP] = int(self.is_cancelled)

    def _stop(self, limits: object) -> None:
        with self._lock:
            if self._limits is limits:
                self._words[Word.STOP] = 1


def _address(name: str) -> int:
    """The address of a function of Python."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


@functools.cache
def _library() -> Library:
    return load([guarded.code()])
