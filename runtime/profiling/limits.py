"""Peak rates of a device: the roof that kernels are measured against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from staticgraph.compiler.graph.dtypes import float64
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.profiling.kernels import KernelView
from staticgraph.runtime.reports.table import counted

LEVELS = {"near cache": 96 << 10, "far cache": 3 << 20, "memory": 192 << 20}  # bytes, of common CPUs


@dataclass(frozen=True, slots=True)
class RoofBound:
    """The least time of a launch, in nanoseconds, and what sets it: "arithmetic", or where the data is."""

    nanoseconds: float
    by: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one core, or of another `whole`: multiply-adds of float32 as two operations each, per second; bytes
    per second by where they are, and how many bytes each place has room for. `wide`: operations of float64.
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
