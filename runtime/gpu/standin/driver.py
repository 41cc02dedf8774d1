"""A driver without a card: the same functions run on the processor, under rules as strict as a card's.

Work that is asked for waits in a queue until something waits for it, so that a missing wait shows: a result
that is read too early is still NaN, a slot that is filled too early is sent with the wrong content. With
`deferred=False` each piece is done at once, which shows what is asked for before its inputs are there.
What a card leaves undefined is an error here: addresses that are nobody's, stores outside of a block,
anything in a capture that would invalidate it.

A captured graph is done in one of the orders that its edges allow, so that a missing one shows, too. A
product that has a workspace is two nodes of it, as products that a library splits among blocks are: one
leaves the result in the workspace, the other takes it from there.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import field

import numpy as np

from staticgraph.compiler.codegen.cuda.convolution import Convolution
from staticgraph.compiler.codegen.cuda.function import Function
from staticgraph.compiler.codegen.cuda.product import Product
from staticgraph.compiler.dataclass import dataclass
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.runtime.gpu.driver import Card, Direction, Kernel
from staticgraph.runtime.gpu.standin import convolution as convolving
from staticgraph.runtime.gpu.standin import product as products
from staticgraph.runtime.gpu.standin.build import Unit
from staticgraph.runtime.gpu.standin.memory import Memory, move
from staticgraph.runtime.gpu.standin.work import (
    ALLOCATION,
    CONVOLUTION,
    COPY,
    KINDS,
    LAUNCH,
    MARK,
    PRODUCT,
    CaptureError,
    DeviceError,
    StandInArrival,
    StandInConvolution,
    StandInEvent,
    StandInGraph,
    StandInKernel,
    StandInMark,
    StandInMultiplication,
    Work,
)

_IMAGE = b"stand-in\n"
_COUNTS = {
    COPY: "copies", LAUNCH: "launches", PRODUCT: "products", CONVOLUTION: "convolutions", MARK: "marks",
}  # fmt: skip
WORKSPACES, WORKSPACE = 2, 1 << 16  # how many, and bytes of each


@dataclass(slots=True)
class Counts:
    """How often something was done."""

    allocations: int = 0
    copies: int = 0
    launches: int = 0
    products: int = 0
    convolutions: int = 0
    marks: int = 0
    captures: int = 0
    replays: int = 0
    compilations: int = 0
    waits: int = 0


@dataclass(slots=True)
class _Fault:
    """The error that is to come, and how many of its kind go well before."""

    error: BaseException
    left: int


@dataclass(slots=True)
class StandIn:
    """Stands in for a card of `limit` bytes. `schedule`: the order of threads, as in `Unit.run`.

    `convolutions`: there is a library for them.
    """

    schedule: int = 0
    limit: int = 1 << 30
    deferred: bool = True
    convolutions: bool = False
    overlaps: bool = field(init=False, default=True)
    card: Card = field(init=False)
    memory: Memory = field(init=False)
    counts: Counts = field(init=False, default_factory=Counts)
    _queue: deque[Work] = field(init=False, default_factory=deque)
    _done: int = field(init=False, default=0)  # pieces of work since the beginning
    _captured: StandInGraph | None = field(init=False, default=None)
    _waits: tuple[int, ...] = field(init=False, default=())  # what is captured next waits for these nodes
    _nodes: int = field(init=False, default=1)  # the number of the next node
    _workspaces: tuple[tuple[int, int], ...] = field(init=False, default=())
    _spoiled: str | None = field(init=False, default=None)  # why what is being captured is of no use
    _faults: dict[str, _Fault] = field(init=False, default_factory=dict)
    _closed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.card = Card("stand-in", "sm_90", 4, self.limit)
        self.memory = Memory(self.limit)

    @property
    def capturing(self) -> bool:
        """Whether work is captured rather than done."""
        return self._captured is not None

    def fail(self, kind: str, after: int = 0, error: BaseException | None = None) -> None:
        """Have something of this kind, one of `KINDS`, fail after it went well `after` times.

        Copies, launches, products and convolutions fail when they are done, not when they are asked for.
        """
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is none of {', '.join(KINDS)}")
        out_of_memory = ResourceExhaustedError("the device has no memory left: a fault that was asked for")
        other = DeviceError(f"a fault that was asked for: {kind}")
        self._faults[kind] = _Fault(error or (out_of_memory if kind == ALLOCATION else other), after)

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
        self._open()
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
        self._open()
        self.memory.view(address, size)
        self.ask(Work(COPY, f"clearing {size} bytes", lambda: self.memory.view(address, size).fill(0)))

    def load(self, functions: Sequence[Function], images: Sequence[bytes] = ()) -> list[Kernel]:
        self.outside_a_capture("loading functions")
        if not functions:
            return []
        if not any(_fits(image, functions) for image in images):
            self.counts.compilations += 1
        unit = Unit(functions)
        return [StandInKernel(self, f, unit) for f in functions]

    def image(self, functions: Sequence[Function]) -> bytes:
        self._open()
        return _IMAGE + b"\n".join(_digest(f) for f in functions)

    def multiplication(self, product: Product) -> StandInMultiplication:
        self.outside_a_capture("choosing the algorithm of a product")
        products.check(product)
        if product.pointers or products.sizes(product)[2] > WORKSPACE:
            return StandInMultiplication(self, product, ())
        if not self._workspaces:
            places = [self.memory.allocate(WORKSPACE) for _ in range(WORKSPACES)]
            self._workspaces = tuple((place, place + WORKSPACE) for place in places)
        return StandInMultiplication(self, product, self._workspaces)

    def convolution(self, convolution: Convolution) -> StandInConvolution:
        self.outside_a_capture("choosing the algorithm of a convolution")
        convolving.check(convolution)
        return StandInConvolution(self, convolution)

    def begin_capture(self) -> None:
        self.outside_a_capture("another capture")
        self._captured, self._spoiled, self._waits = StandInGraph(self, self._nodes), None, ()

    def wait_for(self, nodes: Collection[int]) -> None:
        graph = self._capture()
        if len(set(nodes)) < len(nodes):
            raise self.refused("waiting twice for the same node", "name it once")
        if not all(graph.first <= node < self._nodes for node in nodes):
            raise self.refused("waiting for a node of another graph", "name those of this capture")
        self._waits = tuple(nodes)

    def waits(self) -> tuple[int, ...]:
        self._capture()
        return self._waits

    def end_capture(self) -> StandInGraph:
        graph, self._captured = self._capture(), None
        self.counts.captures += 1
        return graph

    def abandon_capture(self) -> None:
        self._captured = self._spoiled = None

    def event(self) -> StandInEvent:
        self.outside_a_capture("an event")
        return StandInEvent(self, self._done + len(self._queue))

    def arrival(self) -> StandInArrival:
        self._open()
        return StandInArrival(self)

    def mark(self) -> StandInMark:
        mark = StandInMark()
        self.ask(Work(MARK, "a mark", mark.reach))
        return mark

    def another(self) -> StandIn:
        return StandIn(self.schedule, self.limit, self.deferred, self.convolutions)

    def synchronize(self) -> None:
        self.outside_a_capture("waiting for the device")
        self.counts.waits += 1
        self.drain()

    def free_memory(self) -> int:
        self._open()
        return self.memory.limit - self.memory.used

    def close(self) -> None:
        self._closed = True
        self._captured = None
        self._queue.clear()
        self.memory = Memory(0)

    def _open(self) -> None:
        if self._closed:
            raise DeviceError("the driver is closed")

    def _capture(self) -> StandInGraph:
        self._open()
        if self._captured is None:
            raise CaptureError("nothing is being captured")
        if self._spoiled is not None:
            raise CaptureError(f"the capture was spoiled before: {self._spoiled}")
        return self._captured

    def outside_a_capture(self, what: str) -> None:
        """Refuse it while capturing."""
        self._open()
        if self.capturing:
            raise self.refused(what, "do it before the capture")

    def refused(self, what: str, cure: str) -> CaptureError:
        """The error for it; what is being captured is of no use from now on."""
        self._spoiled = f"{what} cannot be captured: {cure}"
        return CaptureError(self._spoiled)

    def ask(self, *work: Work) -> None:
        """Put work into the queue, or into the graph that is being captured."""
        self._open()
        if (graph := self._captured) is not None:
            for each in work:
                graph.work.append(each)
                graph.waits.append(tuple(node - graph.first for node in self._waits))
                self._waits = (self._nodes,)
                self._nodes += 1
            return
        self._queue += work
        if not self.deferred:
            self.drain()

    def drain(self, until: int | None = None) -> None:
        """Do what was asked for, all or up to a moment. After an error the rest is forgotten."""
        try:
            while self._queue and (until is None or self._done < until):
                work = self._queue.popleft()
                self._done += 1
                self._do(work)
        except BaseException:
            self._done += len(self._queue)
            self._queue.clear()
            raise

    def _do(self, work: Work) -> None:
        if (count := _COUNTS.get(work.kind)) is not None:
            setattr(self.counts, count, getattr(self.counts, count) + 1)
        self.meet_fault(work.kind)
        work.act()
        for block in self.memory.blocks:
            if (damage := block.damage()) is not None:
                block.mend()
                raise DeviceError(f"{work.name} stores {damage}")

    def transfer(
        self, target: int, source: int, size: int, device: list[int], host: list[int], pinned: bool
    ) -> None:
        """Copy bytes, if the memory that was there when it was asked for still is."""
        for address in device:
            if self.memory.find(address, size) is None:
                raise DeviceError(f"a copy of {size} bytes: {address:#x} was given back before it was done")
        if pinned and not all(self.memory.is_pinned(address, size) for address in host):
            raise DeviceError(f"a copy of {size} bytes: the pinned memory was given back before it was done")
        move(target, source, size)

    def meet_fault(self, kind: str) -> None:
        """Fail, if that was asked for."""
        fault = self._faults.get(kind)
        if fault is None:
            return
        if fault.left:
            fault.left -= 1
            return
        del self._faults[kind]
        raise fault.error


def _digest(function: Function) -> bytes:
    return hashlib.sha256(f"{function.name}\n{function.text}".encode()).hexdigest().encode()


def _fits(image: bytes, functions: Sequence[Function]) -> bool:
    """Whether all these functions are in an image."""
    inside = set(image.removeprefix(_IMAGE).split(b"\n"))
    return image.startswith(_IMAGE) and all(_digest(f) in inside for f in functions)
