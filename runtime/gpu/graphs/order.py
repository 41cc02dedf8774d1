"""Dependencies of pieces of work, found from the bytes that each piece reads and writes.

A piece waits for the last writer of what it reads. It also waits for the last writer, and for all later
readers, of what it writes. Memory is a line of segments, each with its last writer and the readers since. An
access cuts segments at its ends, and the bytes that it writes become one segment. Dependencies that follow
from others are left out.

A capture on one stream is a chain: each piece of work waits for the one before. An overlapping capture waits
only for dependencies, so that a GPU may do several pieces at a time: each declares the bytes that it reads
and writes before it is enqueued.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field

from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.cuda.driver import Driver

Span = tuple[int, int]  # addresses: the first byte, and the one after the last
NOBODY = -1
# A read of more segments than this counts as a write, which makes one of them: so the cost stays linear.
# Who reads the same later waits for it and need not, which is correct and rare.
MOST_SEGMENTS = 256
_KNOWN = (1 << (1 << 13)) - 1  # how far back it is known what comes before what


@dataclass(slots=True)
class _Segment:
    """Bytes from where it starts to where the next one does."""

    writer: int = NOBODY
    readers: list[int] = field(default_factory=list)  # since it was written


class Order:
    """Pieces of work by number, in the order in which they are asked for."""

    def __init__(self) -> None:
        self._starts = [-1]
        self._segments = [_Segment()]
        # What comes before each: bit 0 is the piece that was asked for just before it, bit 1 the one before.
        self._before: list[int] = []

    def add(self, reads: Iterable[Span], writes: Iterable[Span]) -> list[int]:
        """The numbers of the pieces that the next one has to wait for, ascending."""
        number = len(self._before)
        found: set[int] = set()
        for span in reads:
            self._read(number, span, found)
        for span in writes:
            self._write(number, span, found)
        found -= {number, NOBODY}
        return self._needed(number, found)

    def _read(self, number: int, span: Span, found: set[int]) -> None:
        first, last = self._cut(span)
        if last - first > MOST_SEGMENTS:
            self._write(number, span, found)
            return
        for segment in self._segments[first:last]:
            found.add(segment.writer)
            segment.readers.append(number)

    def _write(self, number: int, span: Span, found: set[int]) -> None:
        first, last = self._cut(span)
        for segment in self._segments[first:last]:
            found.add(segment.writer)
            found.update(segment.readers)
        if first < last:
            self._segments[first:last] = [_Segment(number)]
            del self._starts[first + 1 : last]

    def _cut(self, span: Span) -> tuple[int, int]:
        """Return the segments of a span, after cutting those that it begins or ends inside of."""
        start, end = span
        if start >= end:
            return 0, 0
        return self._boundary(start), self._boundary(end)

    def _boundary(self, address: int) -> int:
        """The number of the segment that starts at an address."""
        place = bisect_left(self._starts, address)
        if place == len(self._starts) or self._starts[place] != address:
            inside = self._segments[place - 1]
            self._starts.insert(place, address)
            self._segments.insert(place, _Segment(inside.writer, inside.readers.copy()))
        return place

    def _needed(self, number: int, found: set[int]) -> list[int]:
        """Return the pieces in `found` that come before no other piece in `found`, in ascending order.

        Also record all pieces that come before `number`.
        """
        before, needed = 0, []
        for each in sorted(found, reverse=True):
            back = number - each
            if not before >> (back - 1) & 1:
                needed.append(each)
                before |= (self._before[each] << back | 1 << (back - 1)) & _KNOWN
        self._before.append(before)
        return needed[::-1]


def depth(waits: Sequence[Iterable[int]]) -> int:
    """Return the number of pieces in the longest chain of waits. Each piece waits for the given earlier ones.

    >>> depth([[], [0], [0], [1, 2]])
    3
    """
    depths: list[int] = []
    for each in waits:
        depths.append(1 + max((depths[n] for n in each), default=0))
    return max(depths, default=0)


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
