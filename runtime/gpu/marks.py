"""Marks in the stream of a card: events of CUDA's that know when they were reached, also in a captured graph.

An event that is recorded in a capture is an edge of the graph and has no time. To be a node of it, which
takes the time in every replay, it must be recorded as an external one, which CuPy has no function for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from staticgraph.runtime.gpu.failure import failure
from staticgraph.runtime.gpu.libcuda import libcuda

if TYPE_CHECKING:
    from staticgraph.runtime.gpu.cupy_driver import CupyDriver

_EXTERNAL = 1  # of CUevent_record_flags
_NANOSECONDS = 1e6  # in the unit of CUDA's times


class Mark:
    """An event that takes the time: once, or in each replay of the graph that it is captured in."""

    __slots__ = ("_elapsed", "_event")

    def __init__(self, driver: CupyDriver, cupy: Any, capturing: bool) -> None:
        self._elapsed: Callable[[Any, Any], float] = cupy.cuda.get_elapsed_time
        self._event = cupy.cuda.Event()
        if not capturing:
            self._event.record(driver.stream)
        elif status := _record()(self._event.ptr, driver.stream.ptr, _EXTERNAL):
            raise failure(status, f"cuEventRecordWithFlags: {status}", "to take the time in a step")

    def since(self, earlier: Mark) -> float:
        """As in the protocol."""
        return _NANOSECONDS * self._elapsed(earlier._event, self._event)


@cache
def _record() -> Callable[[int, int, int], int]:
    """`cuEventRecordWithFlags`, of the driver of the system."""
    library = libcuda()
    if library is None:
        raise failure(35, "no libcuda", "to take the time in a step")
    function = library.cuEventRecordWithFlags
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    return function
