"""A driver without a GPU: the same functions run on the processor, under rules as strict as a GPU's.

Work that is asked for waits in a queue until something waits for it, so that a missing wait shows: a result
that is read too early is still NaN, a slot that is filled too early is sent with the wrong content. With
`deferred=False` each piece is done at once, which shows what is asked for before its inputs are there.
What a GPU leaves undefined is an error here: addresses that are nobody's, stores outside of a block,
anything in a capture that would invalidate it.

A captured graph is done in one of the orders that its edges allow, so that a missing one shows, too. A
product that has a workspace is two nodes of it, as products that a library splits among blocks are: one
leaves the result in the workspace, the other takes it from there.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.machine import H200
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.cuda.driver import Card, Direction, DriverKernel
from staticgraph.runtime.gpu.simulator import convolution as convolving
from staticgraph.runtime.gpu.simulator import product as products
from staticgraph.runtime.gpu.simulator.build import Unit
from staticgraph.runtime.gpu.simulator.queue import ALLOCATION, COPY, MARK, Queue, Work
from staticgraph.runtime.gpu.simulator.work import (
    SimulatedArrival,
    SimulatedConvolution,
    SimulatedEvent,
    SimulatedKernel,
    SimulatedMark,
    SimulatedMultiplication,
)

_IMAGE = b"stand-in\n"
WORKSPACES, WORKSPACE = 2, 1 << 16  # how many, and bytes of each


@dataclass(slots=True)
class Simulator(Queue):
    """Stands in for a GPU of `limit` bytes. `schedule`: the order of threads, as in `Unit.run`.

    `convolutions`: there is a library for them.
    """

    convolutions: bool = False
    overlaps: bool = field(init=False, default=True)
    card_number: str = "0"
    nccl: Any = None  # stands for CuPy's module of NCCL
    card: Card = field(init=False)
    _workspaces: tuple[tuple[int, int], ...] = field(init=False, default=())
    _most_workspaces: int = field(init=False, default=WORKSPACES)

    def __post_init__(self) -> None:
        Queue.__post_init__(self)
        self.card = Card("stand-in", "sm_90", H200.multiprocessors, self.limit)

    def allocate(self, size: int) -> int:
        self.outside_a_capture("an allocation")
        self.counts.allocations += 1
        self.meet_fault(ALLOCATION)
        return self.memory.allocate(size)

    def free(self, address: int) -> None:
        self.outside_a_capture("giving memory back")
        self.memory.free(address)

    def pinned(self, size: int) -> np.ndarray:
        self.outside_a_capture("an allocation of pinned memory")
        return self.memory.pinned(size)

    def is_pinned(self, address: int, size: int) -> bool:
        return self.memory.is_pinned(address, size)

    def copy(self, target: int, source: int, size: int, direction: Direction) -> None:
        self.open()
        device, host = {
            Direction.TO_DEVICE: ([target], [source]),
            Direction.FROM_DEVICE: ([source], [target]),
            Direction.ON_DEVICE: ([target, source], []),
        }[direction]
        for address in device:
            self.memory.view(address, size)
        pageable = [address for address in host if not self.is_pinned(address, size)]
        if pageable and self.capturing:
            raise self.refused(f"a copy, {direction.value}, of memory that is not pinned", "use pinned()")
        name = f"a copy of {size} bytes, {direction.value}"
        self.ask(Work(COPY, name, lambda: self.transfer(target, source, size, device, host, not pageable)))
        if pageable:
            self.drain()

    def clear(self, address: int, size: int) -> None:
        self.open()
        self.memory.view(address, size)
        self.ask(Work(COPY, f"clearing {size} bytes", lambda: self.memory.view(address, size).fill(0)))

    def load(self, functions: Sequence[CudaFunction], images: Sequence[bytes] = ()) -> list[DriverKernel]:
        self.outside_a_capture("loading functions")
        if not functions:
            return []
        if not any(_fits(image, functions) for image in images):
            self.counts.compilations += 1
        unit = Unit(functions)
        return [SimulatedKernel(self, f, unit) for f in functions]

    def image(self, functions: Sequence[CudaFunction]) -> bytes:
        self.open()
        return _IMAGE + b"\n".join(_digest(f) for f in functions)

    def multiplication(self, product: Product) -> SimulatedMultiplication:
        self.outside_a_capture("choosing the algorithm of a product")
        products.check(product)
        if not self._workspaces:
            self._workspaces = self._some_workspaces()
        if product.pointers or products.sizes(product)[2] > WORKSPACE:
            return SimulatedMultiplication(self, product, ())
        return SimulatedMultiplication(self, product, self._workspaces)

    def _some_workspaces(self) -> tuple[tuple[int, int], ...]:
        places = [self.memory.allocate(WORKSPACE)]
        with contextlib.suppress(ResourceExhaustedError):
            places += [self.memory.allocate(WORKSPACE) for _ in range(1, self._most_workspaces)]
        return tuple((place, place + WORKSPACE) for place in places)

    def shrink(self) -> bool:
        self.outside_a_capture("giving memory of a library back")
        if len(self._workspaces) < 2:
            return False
        for place, _ in self._workspaces:
            self.memory.free(place)
        self._workspaces, self._most_workspaces = (), 1
        return True

    def convolution(self, convolution: Convolution) -> SimulatedConvolution:
        self.outside_a_capture("choosing the algorithm of a convolution")
        convolving.check(convolution)
        return SimulatedConvolution(self, convolution)

    def event(self) -> SimulatedEvent:
        self.outside_a_capture("an event")
        return SimulatedEvent(self, self.moment)

    def arrival(self) -> SimulatedArrival:
        self.open()
        return SimulatedArrival(self)

    def mark(self) -> SimulatedMark:
        mark = SimulatedMark()
        self.ask(Work(MARK, "a mark", mark.reach))
        return mark

    def another(self) -> Simulator:
        return Simulator(self.schedule, self.limit, self.deferred, self.convolutions)

    @property
    def stream_pointer(self) -> int:
        return id(self)

    def is_done(self) -> bool:
        self.outside_a_capture("asking if all is done")
        self.drain()
        return True

    def synchronize(self) -> None:
        self.outside_a_capture("waiting for the device")
        self.counts.waits += 1
        self.drain()

    def free_memory(self) -> int:
        self.open()
        return self.memory.limit - self.memory.used


def _digest(function: CudaFunction) -> bytes:
    return hashlib.sha256(f"{function.name}\n{function.text}".encode()).hexdigest().encode()


def _fits(image: bytes, functions: Sequence[CudaFunction]) -> bool:
    """Return True if all these functions are in an image."""
    inside = set(image.removeprefix(_IMAGE).split(b"\n"))
    return image.startswith(_IMAGE) and all(_digest(f) in inside for f in functions)
