"""Sources of work in the simulator of a CUDA driver: kernels, products, convolutions, copies and moments."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.kernel.schedule_gpu.function import Extents
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution, Made
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.simulator import convolution as convolving
from staticgraph.runtime.gpu.simulator import product as products
from staticgraph.runtime.gpu.simulator.build import Unit
from staticgraph.runtime.gpu.simulator.queue import (
    ARRIVAL,
    CONVOLUTION,
    COPY,
    LAUNCH,
    PRODUCT,
    REST,
    DeviceError,
    Queue,
    Work,
)

ALIGNMENT = 64  # of every argument of a function, in bytes


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedEvent:
    """A moment in the queue: the number of pieces of work, since the beginning, that must be done first."""

    queue: Queue
    moment: int

    def wait(self) -> None:
        """Return when all that was asked for before it is done."""
        self.queue.outside_a_capture("a wait for an event")
        self.queue.counts.waits += 1
        self.queue.drain(self.moment)


@dataclass(slots=True, eq=False)
class SimulatedArrival:
    """Copies beside the queue, none of which is done before something waits for them."""

    queue: Queue
    sent: list[tuple[int, int, int]] = field(default_factory=list)

    def send(self, target: int, source: int, size: int) -> None:
        """Put off a copy."""
        self.queue.outside_a_capture("a copy in another stream")
        self.queue.memory.view(target, size)
        if not self.queue.memory.is_pinned(source, size):
            raise DeviceError(f"a copy of {size} bytes beside other work: the memory is not pinned")
        self.sent.append((target, source, size))

    def awaited(self) -> None:
        """Have them done at this point of the queue, or of the graph."""
        self.queue.ask(Work(ARRIVAL, "a wait for copies", self.wait))

    def wait(self) -> None:
        """Carry out the copies."""
        for target, source, size in self.sent:
            self.queue.counts.copies += 1
            self.queue.meet_fault(COPY)
            self.queue.transfer(target, source, size, [target], [source], pinned=True)
        self.sent.clear()


@dataclass(slots=True, eq=False)
class SimulatedMark:
    """A place in the queue, and when it was reached for the last time."""

    time: int = 0

    def reach(self) -> None:
        """Take the time."""
        self.time = time.perf_counter_ns()

    def since(self, earlier: SimulatedMark) -> float:
        """Nanoseconds from an earlier mark to this one."""
        return float(self.time - earlier.time)


@dataclass(slots=True, eq=False)
class SimulatedKernel:
    """A function that is loaded. Its first call must not be in a capture, unless it is `ready` before: a GPU
    loads it there and then.
    """

    queue: Queue
    function: CudaFunction
    unit: Unit
    called: bool = False

    def __call__(
        self, addresses: Sequence[int], sizes: Sequence[int] = (), grid: Extents | None = None
    ) -> None:
        """Ask for a run of it."""
        if self.queue.capturing and not self.called:
            raise self.queue.refused(f"the first call of {self.function.name}", "call it once before")
        self.called = True
        given = tuple(addresses), tuple(sizes), grid
        self.queue.ask(Work(LAUNCH, self.function.name, lambda: self._run(*given)))

    def _run(self, addresses: Sequence[int], sizes: Sequence[int], grid: Extents | None) -> None:
        name, memory = self.function.name, self.queue.memory
        for place, address in enumerate(addresses):
            if memory.find(address, 1) is None:
                raise DeviceError(f"argument {place} of {name}, {address:#x}, is no memory of the device")
            if address % ALIGNMENT:
                raise DeviceError(f"argument {place} of {name}, {address:#x}, is no multiple of {ALIGNMENT}")
        self.unit.run(name, addresses, self.queue.schedule, grid, sizes=sizes)

    def ready(self) -> None:
        """Have it loaded."""
        self.queue.outside_a_capture("loading a function")
        self.called = True


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedMultiplication:
    """A product whose algorithm is chosen."""

    queue: Queue
    product: Product
    workspaces: tuple[tuple[int, int], ...]

    def __call__(self, *addresses: int, workspace: int = 0) -> None:
        """Ask for it."""
        if not self.workspaces:
            self.queue.ask(Work(PRODUCT, "a product", lambda: self._run(*addresses)))
            return
        room, _ = self.workspaces[workspace]
        self.queue.ask(
            Work(PRODUCT, "a product", lambda: self._begin(room, *addresses)),
            Work(REST, "a product", lambda: self._end(room, *addresses)),
        )

    def _begin(self, room: int, *addresses: int) -> None:
        """Leave what `out` is to become in the workspace."""
        a, b, out = self._views(*addresses)
        made = self.queue.memory.view(room, len(out))
        made[:] = out
        products.multiply(self.product, a, b, made)

    def _end(self, room: int, *addresses: int) -> None:
        """Take it from there."""
        out = self._views(*addresses)[2]
        out[:] = self.queue.memory.view(room, len(out))

    def _run(self, *addresses: int) -> None:
        products.multiply(self.product, *self._views(*addresses))

    def _views(self, *addresses: int) -> list[np.ndarray]:
        sizes = products.sizes(self.product)
        try:
            return [self.queue.memory.view(*pair) for pair in zip(addresses, sizes, strict=True)]
        except LookupError as error:
            raise DeviceError(f"{error}: {self.product}") from None


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedConvolution:
    """A convolution whose algorithm is chosen: it leaves what it makes in its workspace, and then takes it
    from there.
    """

    queue: Queue
    convolution: Convolution

    def __call__(self, image: int, filter: int, result: int, workspace: int) -> None:
        """Ask for it."""
        addresses = [image, filter, result]
        made = 2 if self.convolution.made is Made.RESULT else 1
        room = [*addresses[:made], workspace, *addresses[made + 1 :]]
        self.queue.ask(
            Work(CONVOLUTION, "a convolution", lambda: self._begin(room)),
            Work(REST, "a convolution", lambda: self._end(addresses[made], workspace, made)),
        )

    def _begin(self, addresses: Sequence[int]) -> None:
        sizes = convolving.sizes(self.convolution)
        views = [self._view(*each) for each in zip(addresses, sizes, strict=True)]
        convolving.convolve(self.convolution, *views)

    def _end(self, target: int, workspace: int, made: int) -> None:
        size = convolving.sizes(self.convolution)[made]
        self._view(target, size)[:] = self._view(workspace, size)

    def _view(self, address: int, size: int) -> np.ndarray:
        try:
            return self.queue.memory.view(address, size)
        except LookupError as error:
            raise DeviceError(f"{error}: {self.convolution}") from None
