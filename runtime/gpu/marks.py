"""Marks in the stream of a card: events of CUDA's that know when they were reached, in replays as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from staticgraph.runtime.gpu import external

if TYPE_CHECKING:
    from staticgraph.runtime.gpu.cupy_driver import CupyDriver

_NANOSECONDS = 1e6  # in the unit of CUDA's times


class Mark:
    """An event that takes the time: once, or in each replay of the graph that it is captured in."""

    __slots__ = ("_elapsed", "_event")

    def __init__(self, driver: CupyDriver, cupy: Any, capturing: bool) -> None:
        self._elapsed: Callable[[Any, Any], float] = cupy.cuda.get_elapsed_time
        self._event = cupy.cuda.Event()
        if capturing:
            external.record(self._event.ptr, driver.stream.ptr, "to take the time in a step")
        else:
            self._event.record(driver.stream)

    def since(self, earlier: Mark) -> float:
        """As in the protocol."""
        return _NANOSECONDS * self._elapsed(earlier._event, self._event)
