"""Copies to a card in a stream of their own, which a step waits for where it reads them, and not before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from staticgraph.compiler.lower.memory_use import size_text
from staticgraph.runtime.gpu import external
from staticgraph.runtime.gpu.failure import explained

if TYPE_CHECKING:
    from staticgraph.runtime.gpu.cupy_driver import CupyDriver

_TO_DEVICE = 1  # of cudaMemcpyKind
_WAITING = "waiting for what is sent to the GPU"


class Arrival:
    """The copies of one array, and an event after the last of them."""

    __slots__ = ("_driver", "_stream", "_event")

    def __init__(self, driver: CupyDriver, cupy: Any, stream: Any) -> None:
        self._driver, self._stream = driver, stream
        self._event = cupy.cuda.Event(disable_timing=True)

    def send(self, target: int, source: int, size: int) -> None:
        """As in the protocol."""
        driver = self._driver
        try:
            driver.enter()
            driver.runtime.memcpyAsync(target, source, size, _TO_DEVICE, self._stream.ptr)
            self._event.record(self._stream)
        except driver.errors as error:
            raise explained(error, f"to send {size_text(size)} to the GPU") from None

    def awaited(self) -> None:
        """As in the protocol."""
        driver = self._driver
        try:
            driver.enter()
            if driver.capturing:
                external.wait(self._event.ptr, driver.stream.ptr, _WAITING)
            else:
                driver.stream.wait_event(self._event)
        except driver.errors as error:
            raise explained(error, _WAITING) from None

    def wait(self) -> None:
        """As in the protocol."""
        try:
            self._event.synchronize()
        except self._driver.errors as error:
            raise explained(error, _WAITING) from None
