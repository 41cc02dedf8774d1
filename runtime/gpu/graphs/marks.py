"""Marks in the stream of a GPU: events of CUDA's that know when they were reached, in replays as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from staticgraph.runtime.gpu.cuda.connection import Connection
from staticgraph.runtime.gpu.graphs import external

_NANOSECONDS = 1e6  # in the unit of CUDA's times


class Mark:
    """An event that takes the time: once, or in each replay of the graph that it is captured in."""

    __slots__ = ("_elapsed", "_event")

    def __init__(self, connection: Connection) -> None:
        self._elapsed: Callable[[Any, Any], float] = connection.cupy.cuda.get_elapsed_time
        self._event = connection.cupy.cuda.Event()
        if connection.capturing:
            external.record(self._event.ptr, connection.stream.ptr, "to take the time in a step")
        else:
            self._event.record(connection.stream)

    def since(self, earlier: Mark) -> float:
        return _NANOSECONDS * self._elapsed(earlier._event, self._event)
