"""Moments in the streams of a GPU: what something waits for, and when it was reached.

An array that is copied beside the work has a stream of its own, and a step waits for its arrival where it
reads the array, not before. Marks are events of CUDA's that know when they were reached. Both are external
events in captured graphs: nodes that are recorded or waited for in every replay.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from staticgraph.compiler.lower.buffer_assignment import size_text
from staticgraph.runtime.gpu.cuda.connection import KINDS, Connection
from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.cuda.failure import explained, failure
from staticgraph.runtime.gpu.libcuda import libcuda

_WAITING, _SENT = "waiting for the GPU", "waiting for what is sent to the GPU"


class Arrival:
    """The copies of one array, and an event after the last of them."""

    __slots__ = ("_connection", "_stream", "_event")

    def __init__(self, connection: Connection, stream: Any) -> None:
        self._connection, self._stream = connection, stream
        self._event = connection.cupy.cuda.Event(disable_timing=True)

    def send(self, target: int, source: int, size: int) -> None:
        connection = self._connection
        try:
            connection.enter()
            connection.runtime.memcpyAsync(target, source, size, KINDS[Direction.TO_DEVICE], self._stream.ptr)
            self._event.record(self._stream)
        except connection.errors as error:
            raise explained(error, f"to send {size_text(size)} to the GPU") from None

    def awaited(self) -> None:
        connection = self._connection
        try:
            connection.enter()
            if connection.capturing:
                wait(self._event.ptr, connection.stream.ptr, _SENT)
            else:
                connection.stream.wait_event(self._event)
        except connection.errors as error:
            raise explained(error, _SENT) from None

    def wait(self) -> None:
        try:
            self._event.synchronize()
        except self._connection.errors as error:
            raise explained(error, _SENT) from None


class Event:
    """An event of CUDA's that was recorded."""

    __slots__ = ("_connection", "_event")

    def __init__(self, connection: Connection, event: Any) -> None:
        self._connection, self._event = connection, event

    def wait(self) -> None:
        try:
            self._event.synchronize()
        except self._connection.errors as error:
            raise explained(error, _WAITING) from None

    def __del__(self) -> None:
        self._connection.idle.append(self._event)


_NANOSECONDS = 1e6  # in the unit of CUDA's times


class Mark:
    """An event that takes the time: once, or in each replay of the graph that it is captured in."""

    __slots__ = ("_elapsed", "_event")

    def __init__(self, connection: Connection) -> None:
        self._elapsed: Callable[[Any, Any], float] = connection.cupy.cuda.get_elapsed_time
        self._event = connection.cupy.cuda.Event()
        if connection.capturing:
            record(self._event.ptr, connection.stream.ptr, "to take the time in a step")
        else:
            self._event.record(connection.stream)

    def since(self, earlier: Mark) -> float:
        return _NANOSECONDS * self._elapsed(earlier._event, self._event)


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
