"""Meter of a GPU: the times of its programs, and its peak rates."""

from __future__ import annotations

from staticgraph.runtime.executable import Executable
from staticgraph.runtime.gpu.cuda.driver import Card
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.limits import measured
from staticgraph.runtime.gpu.timing import UNTIMED, Timing
from staticgraph.runtime.profiling.limits import Limits
from staticgraph.runtime.profiling.times import Times


class GpuMeter:
    """Measures what a GPU does: rates and limits are those of all of it."""

    def __init__(self, device: Device) -> None:
        self.device = device.name
        self._driver = device.driver

    def timed(self, program: Executable) -> TimedOnCard | None:
        """The version of a program that has marks in it."""
        return TimedOnCard(program) if isinstance(program, GpuExecutable) else None

    def limits(self) -> Limits:
        """Return the peak rates of the GPU, measured once in a process."""
        card = self._driver.card
        if card not in _LIMITS:
            driver = self._driver.another()  # the session may be closed
            try:
                _LIMITS[card] = measured(driver)
            finally:
                driver.close()
        return _LIMITS[card]


_LIMITS: dict[Card, Limits] = {}


class TimedOnCard:
    """A program that is captured anew, with marks, and again when that is over."""

    def __init__(self, program: GpuExecutable) -> None:
        self._timing = Timing(program.driver)

    def run(self, program: Executable) -> None:
        """Begin to take the time, from zero."""
        assert isinstance(program, GpuExecutable)
        program.time(self._timing)

    def stop(self, program: Executable) -> None:
        """Take no time any more."""
        assert isinstance(program, GpuExecutable)
        program.time(UNTIMED)

    def read(self, program: Executable) -> Times | None:
        """Return the measured times; None if the program did not run."""
        return self._timing.times()
