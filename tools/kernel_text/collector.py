"""A driver of a GPU that runs nothing: it collects the functions that sessions load, at any size.

Memory is zero and is never touched, so that a net of a GPU's size fits everywhere. What a run decides by its
data, such as the trip count of a loop, is decided by zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np

import staticgraph as sg
from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.machine import H200
from staticgraph.runtime.gpu.cuda.driver import Card
from staticgraph.runtime.gpu.simulator import driver as simulator
from staticgraph.runtime.gpu.simulator import memory as guarded
from staticgraph.runtime.gpu.simulator.queue import COPY, MARK, DeviceError, Work
from staticgraph.runtime.gpu.simulator.work import SimulatedKernel

MEMORY = 139 << 30
MOST_WORK = 30_000  # pieces of work of a run: more are those of a loop that zeros do not end


@dataclass(frozen=True, slots=True)
class Found:
    """A function that was loaded, and the grids of its calls."""

    function: CudaFunction
    grids: set[tuple[int, int, int]] = field(default_factory=set)


class Collector(simulator.Simulator):
    """Simulator of a GPU whose kernels, products and convolutions do nothing.

    `found` has the functions of all collectors by name.
    """

    found: ClassVar[dict[str, Found]] = {}
    left: ClassVar[int] = MOST_WORK  # pieces of work of this run

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__(limit=MEMORY, convolutions=False, deferred=False)
        self.card = Card("collector", "sm_90", H200.multiprocessors, MEMORY)
        self.memory = _Untouched(MEMORY)

    def load(self, functions: Sequence[CudaFunction], images: Sequence[bytes] = ()) -> list[Any]:
        for each in functions:
            self.found.setdefault(each.name, Found(each))
        return [_Noted(self, each, None) for each in functions]  # type: ignore[arg-type]

    def another(self) -> Collector:
        return Collector()

    def _do(self, work: Work) -> None:
        Collector.left -= 1
        if Collector.left < 0:
            raise DeviceError("enough of this run")
        if work.kind in (COPY, MARK):
            work.act()


def run_thrice(step: Callable[[], Any]) -> None:
    """Run a step kernel by kernel, captured with merged functions, and replayed."""
    for _ in range(3):
        Collector.left = MOST_WORK
        try:
            step()
        except Exception:
            if Collector.left >= 0:
                raise


class _Noted(SimulatedKernel):
    """A function whose grids are noted."""

    def __call__(self, addresses: Sequence[int], sizes: Sequence[int] = (), grid: Any = None) -> None:
        SimulatedKernel.__call__(self, addresses, sizes, grid)
        if blocks := grid or self.function.grid:
            Collector.found[self.function.name].grids.add(blocks)


class _Untouched(guarded.Memory):
    """Memory that the system gives when it is first touched."""

    def allocate(self, size: int) -> int:
        whole = np.zeros(size + 2 * guarded.ALIGNMENT, np.uint8)
        start = -whole.ctypes.data % guarded.ALIGNMENT
        block = guarded.GuardedBlock(whole.ctypes.data + start, size, whole, start)
        self._blocks[block.address] = block
        self._places.add(block.address, size)
        self.used += size
        return block.address


@contextmanager
def collecting() -> Iterator[dict[str, Found]]:
    """Context in which sessions collect their functions; yields them."""
    before, simulator.Simulator = simulator.Simulator, Collector  # type: ignore[misc]
    Collector.found.clear()
    try:
        with (
            TemporaryDirectory(ignore_cleanup_errors=True) as empty,
            sg.options(device="standin", cache_dir=empty),
        ):
            yield Collector.found
    finally:
        simulator.Simulator = before  # type: ignore[misc]
