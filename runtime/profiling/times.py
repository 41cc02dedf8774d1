"""Measured times of runs, the peak rates of a device, and what measures both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from staticgraph.compiler.graph.dtypes import float64
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.profiling.kernels import KernelView
from staticgraph.runtime.reports.table import counted

if TYPE_CHECKING:
    from staticgraph.compiler.lower.program import Complete, Instruction
    from staticgraph.runtime.executable import Executable


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


LEVELS = {"near cache": 96 << 10, "far cache": 3 << 20, "memory": 192 << 20}  # bytes, of common CPUs


@dataclass(frozen=True, slots=True)
class RoofBound:
    """The least time of a launch, in nanoseconds, and what sets it: "arithmetic", or where the data is."""

    nanoseconds: float
    by: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one core, or of another `whole`: operations of float32 per second, two for a multiply-add;
    bytes per second by where they are, and how many bytes each place has room for. `wide`: those of float64.
    """

    flops: float
    bandwidth: dict[str, float]
    whole: str = "core"
    wide: float | None = None  # half as many, if it is not told
    levels: Mapping[str, int] = field(default_factory=lambda: LEVELS)

    def bound(self, kernel: KernelView) -> RoofBound:
        """The least time of a kernel, whose data is in the smallest cache that holds it."""
        assert kernel.effort is not None, kernel
        wide = any(v.dtype is float64 for node in kernel.nodes for v in node.outputs)
        rate = (self.wide or self.flops / 2) if wide else self.flops
        arithmetic = 1e9 * kernel.effort.flops / rate
        level = next((name for name, size in self.levels.items() if kernel.effort.bytes <= size), "memory")
        moved = 1e9 * kernel.effort.bytes / self.bandwidth[level]
        return RoofBound(arithmetic, "arithmetic") if arithmetic >= moved else RoofBound(moved, level)

    def __str__(self) -> str:
        moved = ", ".join(f"{counted(rate, 'B/s')} from {name}" for name, rate in self.bandwidth.items())
        return f"a {self.whole} does {counted(self.flops, 'FLOP/s')} at most; {moved}"
