"""A simulator that knows for each launch which bytes it may read and change, and which hold something.

    with watched():
        session = Session on Watching()

The recorder says of each piece of work what it reads and writes, so that work may overlap. Here each
access of a function is held to that: it is in the bytes of a value that the launch was given, and reads what
was written in this run. Memory that steps share counts as empty at the start of a run. Libraries are taken at
their word. It needs the options `RACES` of the compiler.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.graphs.order import Span
from staticgraph.runtime.gpu.graphs.recorder import GraphRecorder
from staticgraph.runtime.gpu.simulator.build import RACES, Unit
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import CONVOLUTION, MARK, PRODUCT, REST, Work
from staticgraph.runtime.gpu.simulator.work import SimulatedKernel

Told = tuple[Sequence[Span], Sequence[Span]]  # what work reads, and what it writes


class Extent(ctypes.Structure):
    """As in `races.h`."""

    _fields_ = (
        ("start", ctypes.c_size_t),
        ("end", ctypes.c_size_t),
        ("written", ctypes.c_void_p),
        ("changes", ctypes.c_size_t),
    )


@dataclass(slots=True)
class Watching(Simulator):
    """Simulator whose launches touch only what they were given."""

    told: Told | None = field(init=False, default=None)  # of the work that is asked for
    now: Told | None = field(init=False, default=None)  # of the work that is done
    launches: int = field(init=False, default=0)  # that were held to their own bytes
    _written: dict[int, np.ndarray] = field(init=False, default_factory=dict)  # by block, 1 for each byte

    def load(self, functions: Sequence[CudaFunction], images: Sequence[bytes] = ()) -> list[Any]:
        unit = WatchedUnit(self, functions)
        return [SimulatedKernel(self, f, unit) for f in functions]

    def free(self, address: int) -> None:
        Simulator.free(self, address)
        self._written.pop(address, None)

    def another(self) -> Watching:
        return Watching(self.schedule, self.limit, self.deferred, self.convolutions)

    def ask(self, *work: Work) -> None:
        Simulator.ask(self, *(self._watched(each, self.told) for each in work))

    def _watched(self, work: Work, told: Told | None) -> Work:
        def act() -> None:
            self.now = told
            work.act()
            if told is not None and work.kind in (PRODUCT, CONVOLUTION, REST):
                for start, end in told[1]:
                    self.written(start, end - start)[:] = 1

        return Work(work.kind, work.name, act) if work.kind != MARK else work

    def clear(self, address: int, size: int) -> None:
        Simulator.clear(self, address, size)
        self.later("clearing", lambda: self.written(address, size).fill(1))

    def transfer(
        self, target: int, source: int, size: int, device: list[int], host: list[int], pinned: bool
    ) -> None:
        Simulator.transfer(self, target, source, size, device, host, pinned)
        if target in device:
            self.written(target, size)[:] = self.written(source, size) if source in device else 1

    def later(self, name: str, act: Any) -> None:
        """Put something into the queue that is no work of the device."""
        Simulator.ask(self, Work("note", name, act))

    def written(self, address: int, size: int) -> np.ndarray:
        """For each of these bytes of the device, 1 if something was written there."""
        block = self.memory.find(address, size)
        assert block is not None, (hex(address), size)
        if block.address not in self._written:
            self._written[block.address] = np.zeros(block.size, np.uint8)
        return self._written[block.address][address - block.address :][:size]

    def extents(self, addresses: Sequence[int]) -> list[Extent]:
        """Return what the present launch may touch: as it was told, or all blocks with arguments of it."""
        told = self.now
        if told is None:
            blocks = [self.memory.find(address, 1) for address in addresses]
            told = (), [(b.address, b.address + b.size) for b in blocks if b is not None]
        else:
            self.launches += 1
        return [
            Extent(start, end, self.written(start, end - start).ctypes.data, changes)
            for changes, spans in enumerate(told)
            for start, end in sorted(set(spans))
            if end > start and self.memory.find(start, end - start) is not None
        ]


class WatchedUnit(Unit):
    """Functions whose accesses are held to the bytes of a launch."""

    def __init__(self, driver: Watching, functions: Sequence[CudaFunction]) -> None:
        Unit.__init__(self, functions, RACES)
        self._driver = driver

    def run(self, name: str, addresses: Sequence[int], *rest: Any, **others: Any) -> None:
        found = self._driver.extents(addresses)
        table = (Extent * len(found))(*found)
        self._library.simt_watch(table, ctypes.c_size_t(len(found)))
        try:
            Unit.run(self, name, addresses, *rest, **others)
        finally:
            self._library.simt_watch(None, ctypes.c_size_t(0))


@contextmanager
def watched() -> Iterator[None]:
    """Context in which recorders tell a simulator what each piece of work reads and writes."""
    touching, run = GraphRecorder.touching, GpuExecutable._run

    @contextmanager
    def told(self: GraphRecorder, reads: Sequence[Span], writes: Sequence[Span]) -> Iterator[None]:
        with touching(self, reads, writes):
            if isinstance(self.driver, Watching):
                self.driver.told = [*reads], [*writes]
            try:
                yield
            finally:
                if isinstance(self.driver, Watching):
                    self.driver.told = None

    def begun(self: GpuExecutable, *given: Any) -> Any:
        driver, device = self._driver, self._device
        if isinstance(driver, Watching) and device._arena:
            place = device._arena

            def forget() -> None:
                if place in driver._written:
                    driver._written[place][:] = 0

            driver.later("a run begins", forget)
        return run(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GraphRecorder, "touching", told)
        patch.setattr(GpuExecutable, "_run", begun)
        yield
