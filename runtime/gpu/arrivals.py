"""Moments that something waits for: one in the stream of a GPU, and the arrival of what is copied beside it.

That has a stream of its own, and a step waits for it where it reads what arrives, not before.
"""

from __future__ import annotations

from typing import Any

from staticgraph.compiler.lower.memory_use import size_text
from staticgraph.runtime.gpu.cuda.connection import KINDS, Connection
from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.cuda.failure import explained
from staticgraph.runtime.gpu.graphs import external

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
                external.wait(self._event.ptr, connection.stream.ptr, _SENT)
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
