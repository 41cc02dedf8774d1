"""What stops a step that is running: a signal such as Ctrl-C, or the end of the time that it was given.

Loops of compiled code ask the watch every few milliseconds. It lets Python run its handlers of signals, and
looks at a flag that a timer sets. A step that was stopped has changed no variable.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from staticgraph.compiler.codegen import llvm_control_flow as at
from staticgraph.compiler.codegen.llvm_control_flow import guarded
from staticgraph.runtime.devices.cpu_jit import Library, load

_FUNCTIONS = {
    at.ENSURE: "PyGILState_Ensure",
    at.RELEASE: "PyGILState_Release",
    at.SIGNALS: "PyErr_CheckSignals",
    at.SAVE: "PyEval_SaveThread",
    at.RESTORE: "PyEval_RestoreThread",
}
_STEP = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_GUARDED = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def plain(step: int) -> Callable[[int], int]:
    """The step at this address, as a function of the address of its table: one that nothing can stop."""
    return _STEP(step)


class Watch:
    """The words that compiled code looks at."""

    def __init__(self) -> None:
        self._words = (ctypes.c_int64 * (2 + len(_FUNCTIONS)))()
        for word, name in _FUNCTIONS.items():
            address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
            self._words[word] = address or 0
        self.address = ctypes.addressof(self._words)

    def time_into(self, address: int) -> None:
        """Have timed code write the time that it takes to a table of times."""
        self._words[at.TIMES] = address

    def guarded(self, step: int) -> Callable[[int], int]:
        """The step at this address, as a function of the address of its table. Raises what a signal handler
        raised; returns something else than 0 where the step was stopped.
        """
        run = _GUARDED(_library()[guarded().name])
        return lambda table: run(step, table, self.address)

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Context in which steps are stopped after this time."""
        timer = threading.Timer(seconds, self._stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self._words[at.STOP] = 0

    def _stop(self) -> None:
        self._words[at.STOP] = 1


@functools.cache
def _library() -> Library:
    return load([guarded()])
