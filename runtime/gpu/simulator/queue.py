"""Work queue of the simulator of a CUDA driver, or a graph of that work during a capture.

Work is deferred until something waits for it. In a graph, each piece waits for others. A replay does the
pieces in one of the orders that these waits allow.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import field

from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.simulator.memory import Memory, move

KINDS = ("allocation", "copy", "launch", "product", "convolution", "replay")
ALLOCATION, COPY, LAUNCH, PRODUCT, CONVOLUTION, REPLAY = KINDS
MARK, REST, ARRIVAL = "mark", "the rest of a product", "arrival"
_COUNTS = {
    COPY: "copies",
    LAUNCH: "launches",
    PRODUCT: "products",
    CONVOLUTION: "convolutions",
    MARK: "marks",
}


class CaptureError(RuntimeError):
    """An error of something that was asked for while capturing, and cannot be part of a graph."""


class DeviceError(RuntimeError):
    """Work that was given to the device failed."""


@dataclass(slots=True)
class Counts:
    """Numbers of operations of each kind that were done."""

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


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work: what it is called in messages, and what does it."""

    kind: str
    name: str
    act: Callable[[], None]


@dataclass(slots=True, eq=False)
class SimulatedGraph:
    """Work that was captured, and which earlier work each piece waits for. `first`: what the driver calls the
    first node.
    """

    queue: Queue
    first: int
    work: list[Work] = field(default_factory=list)
    waits: list[tuple[int, ...]] = field(default_factory=list)
    replays: int = 0

    def replay(self) -> None:
        """Ask for all of it, in an order that depends on the driver's schedule."""
        self.queue.outside_a_capture("a replay of another graph")
        self.queue.counts.replays += 1
        self.queue.meet_fault(REPLAY)
        numbers = order(self.waits, self.queue.schedule, self.replays)
        self.replays += 1
        self.queue.ask(*(self.work[number] for number in numbers))


@dataclass(slots=True)
class Queue:
    """Work for a GPU of `limit` bytes. `schedule`: the order of threads, and of pieces of graphs. Without
    `deferred`, each piece is done as soon as it is asked for.
    """

    schedule: int = 0
    limit: int = 1 << 30
    deferred: bool = True
    memory: Memory = field(init=False)
    counts: Counts = field(init=False, default_factory=Counts)
    _queue: deque[Work] = field(init=False, default_factory=deque)
    _done: int = field(init=False, default=0)  # pieces of work since the beginning
    _captured: SimulatedGraph | None = field(init=False, default=None)
    _waits: tuple[int, ...] = field(init=False, default=())  # what is captured next waits for these nodes
    _nodes: int = field(init=False, default=1)  # the number of the next node
    _spoiled: str | None = field(init=False, default=None)  # why what is being captured is of no use
    _faults: dict[str, _Fault] = field(init=False, default_factory=dict)
    _closed: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.memory = Memory(self.limit)

    @property
    def capturing(self) -> bool:
        """True if work is captured instead of done."""
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

    def begin_capture(self) -> None:
        self.outside_a_capture("another capture")
        self._captured, self._spoiled, self._waits = SimulatedGraph(self, self._nodes), None, ()

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

    def end_capture(self) -> SimulatedGraph:
        graph, self._captured = self._capture(), None
        self.counts.captures += 1
        return graph

    def abandon_capture(self) -> None:
        self._captured = self._spoiled = None

    @property
    def moment(self) -> int:
        """The number of pieces of work enqueued since the beginning."""
        return self._done + len(self._queue)

    def close(self) -> None:
        self._closed = True
        self._captured = None
        self._queue.clear()
        self.memory = Memory(0)

    def open(self) -> None:
        """Refuse everything when it is closed."""
        if self._closed:
            raise DeviceError("the driver is closed")

    def _capture(self) -> SimulatedGraph:
        self.open()
        if self._captured is None:
            raise CaptureError("nothing is being captured")
        if self._spoiled is not None:
            raise CaptureError(f"the capture was spoiled before: {self._spoiled}")
        return self._captured

    def outside_a_capture(self, what: str) -> None:
        """Refuse it while capturing."""
        self.open()
        if self.capturing:
            raise self.refused(what, "do it before the capture")

    def refused(self, what: str, cure: str) -> CaptureError:
        """The error for it; what is being captured is of no use from now on."""
        self._spoiled = f"{what} cannot be captured: {cure}"
        return CaptureError(self._spoiled)

    def ask(self, *work: Work) -> None:
        """Put work into the queue, or into the graph that is being captured."""
        self.open()
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
        """Run what was asked for, all or up to a moment. After an error the rest is dropped."""
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


def order(waits: Sequence[Sequence[int]], schedule: int, replay: int = 0) -> list[int]:
    """All nodes, each after those that it waits for, which are earlier ones.

    `schedule`: 0 is the order of capture, odd ones put each node off as long as there is a later one to do,
    the others are random, and different ones in each `replay`.

    >>> waits = [[], [], [0], [1]]
    >>> order(waits, 0), order(waits, 1)
    ([0, 1, 2, 3], [1, 3, 0, 2])
    """
    if schedule == 0:
        return list(range(len(waits)))
    rng = random.Random(f"{schedule} {replay}")
    rank: Callable[[int], float] = (lambda node: -node) if schedule % 2 else (lambda node: rng.random())
    left = [len(each) for each in waits]
    after: list[list[int]] = [[] for _ in waits]
    for node, each in enumerate(waits):
        for earlier in each:
            after[earlier].append(node)
    ready = [(rank(node), node) for node, count in enumerate(left) if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        _, node = heapq.heappop(ready)
        found.append(node)
        for following in after[node]:
            left[following] -= 1
            if not left[following]:
                heapq.heappush(ready, (rank(following), following))
    return found
