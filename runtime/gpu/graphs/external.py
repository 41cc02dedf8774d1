"""External events: nodes of a captured graph that are recorded or waited for in every replay.

In a capture, an event that is recorded, or waited for, is otherwise an edge of the graph and nothing more.
CuPy has no function for external ones, and those of the system's driver are called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from staticgraph.runtime.gpu.cuda.failure import failure
from staticgraph.runtime.gpu.libcuda import libcuda

_EXTERNAL = 1  # of CUevent_record_flags, and of CUevent_wait_flags


def record(event: int, stream: int, what: str) -> None:
    """Have each replay record an event at this point of the capture; `what` for is told where that fails."""
    _call("cuEventRecordWithFlags", event, stream, what)


def wait(event: int, stream: int, what: str) -> None:
    """Have each replay wait at this point for what the event was recorded after last."""
    _call("cuStreamWaitEvent", stream, event, what)


def _call(name: str, first: int, second: int, what: str) -> None:
    if status := _function(name)(first, second, _EXTERNAL):
        raise failure(status, f"{name}: {status}", what)


@cache
def _function(name: str) -> Callable[[int, int, int], int]:
    library = libcuda()
    if library is None:
        raise failure(35, "no libcuda", f"to call {name}")
    function = getattr(library, name)
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    return function
