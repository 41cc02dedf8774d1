"""Captures in which each piece of work waits only for its dependencies, so that a GPU may overlap other work.

A capture on one stream is a chain: each piece of work waits for the one before. Here each piece declares the
bytes that it reads and writes before it is enqueued. It then waits only for the pieces that `order` finds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from staticgraph.runtime.gpu.cuda.driver import Driver
from staticgraph.runtime.gpu.graphs.order import Order, Span

_NOTHING = nullcontext()


class Chain:
    """Order of a stream: each piece of work waits for the one before."""

    def work(self, reads: Iterable[Span], writes: Iterable[Span]) -> AbstractContextManager[None]:
        """Context in which work is asked for that reads and writes these bytes."""
        return _NOTHING


class Overlap(Chain):
    """Order of a capture: each piece of work waits for those that it depends on. One for each capture."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._order = Order()
        self._nodes: list[tuple[int, ...]] = []  # of the graph, that a piece of work is done with

    @contextmanager
    def work(self, reads: Iterable[Span], writes: Iterable[Span]) -> Iterator[None]:
        nodes = (node for number in self._order.add(reads, writes) for node in self._nodes[number])
        self._driver.wait_for(dict.fromkeys(nodes))  # work that asked for nothing has the nodes of others
        yield
        self._nodes.append(self._driver.waits())


class Ring:
    """Memory that is handed out piece after piece, and from the start again when it is used up: so work that
    is asked for in succession gets different memory where there is enough.
    """

    def __init__(self, address: int, size: int) -> None:
        self._start = self.place = address
        self._end = address + size

    def take(self, size: int) -> int:
        """The address of so many bytes, at most as many as there are."""
        if self.place + size > self._end:
            self.place = self._start
        self.place += size
        return self.place - size


CHAIN = Chain()
