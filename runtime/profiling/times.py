"""Measured times of runs, and what measures them on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from staticgraph.compiler.support.dataclass import dataclass

if TYPE_CHECKING:
    from staticgraph.compiler.lower.program import Complete, Instruction
    from staticgraph.runtime.executable import Executable
    from staticgraph.runtime.profiling.limits import Limits


@dataclass(frozen=True, slots=True)
class Stamp:
    """Time of an instruction, of a wait for other processes, of the step (None), or of other named work.

    `total`: nanoseconds of all `calls`. The last call was from `start` to `end`, in nanoseconds since 1970.
    """

    what: Instruction | Complete | str | None
    total: float
    calls: int
    start: int
    end: int
    thread: int


@dataclass(frozen=True, slots=True)
class Times:
    """Measured times of some runs, for all that was called in them.

    `threads`: the least number of threads that may have taken part. `note`: a remark to show with these runs.
    """

    runs: int
    stamps: Sequence[Stamp]
    threads: int
    note: str = ""


class Timed(Protocol):
    """The timed version of a program."""

    def run(self, program: Executable) -> None:
        """Begin to take the time, from zero."""

    def stop(self, program: Executable) -> None:
        """Take no time any more."""

    def read(self, program: Executable) -> Times | None:
        """Return the measured times; None if the program did not run."""


class Meter(Protocol):
    """Measures what a device does. `device`: its name."""

    device: str

    def timed(self, program: Executable) -> Timed | None:
        """The timed version of a program; None if it came as machine code."""

    def limits(self) -> Limits:
        """Return the peak rates of the device."""
