"""Packets of values that each run moves to and from the GPU: one copy for all feeds, one for all fetches.

Large feeds are not part of the packet. They are sent before the rest of the run is enqueued. The largest are
sent while the GPU does the work that does not need them. The GPU reads feeds in pinned memory in place. For
other feeds, the host copies one piece while the GPU reads the previous one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import cache
from weakref import finalize

import numpy as np

from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.lower.program import Constants
from staticgraph.compiler.support import forks
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.cuda.driver import Direction, Driver, DriverArrival, DriverEvent
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.graphs.order import Span
from staticgraph.runtime.state.memory import storage_dtype

LARGE = 64 << 10  # bytes of a value that is sent by itself: a GPU reads them while it is asked for more
HUGE = 1 << 20  # bytes of a value that is sent beside the stream, which begins with what does without it
_LINE = 256  # bytes that addresses on a GPU are multiples of


@dataclass(slots=True, eq=False)
class Packet:
    """Values of these types one after the other: on the GPU from `address`, on the host in pinned memory.

    With `ahead`, large values, which come last, are sent when they are given, and are not part of the copy.
    """

    device: Device
    types: Sequence[TensorType]
    ahead: bool = False
    address: int = field(init=False)
    offsets: list[int] = field(init=False)
    views: list[np.ndarray] = field(init=False)  # of the pinned memory
    _first: int = field(init=False, default=0)  # bytes before the large ones
    _end: int = field(init=False, default=0)
    _pinned: np.ndarray = field(init=False)
    _beside: dict[int, DriverArrival] = field(init=False)  # by the number of the value

    def __post_init__(self) -> None:
        sizes = [_bytes(type) for type in self.types]
        self.offsets = [0] * len(sizes)
        for number in sorted(range(len(sizes)), key=lambda n: sizes[n] >= LARGE):
            self.offsets[number] = self._end
            self._end += max(-(-sizes[number] // _LINE), 1) * _LINE  # what is empty has an address too
            if sizes[number] < LARGE:
                self._first = self._end
        self.address = self.device.allocate(max(self._end, 1))
        self._pinned = self.driver.pinned(max(self._end, 1))
        self.views = [
            self._pinned[o : o + _bytes(t)].view(storage_dtype(t.dtype)).reshape(t.static_shape)
            for o, t in zip(self.offsets, self.types, strict=True)
        ]
        huge = [n for n, size in enumerate(sizes) if self.ahead and size >= HUGE]
        self._beside = {n: self.driver.arrival() for n in huge}

    @property
    def driver(self) -> Driver:
        """The driver of its GPU."""
        return self.device.driver

    @property
    def size(self) -> int:
        """The number of bytes that the copy takes, from the start."""
        return self._first if self.ahead else self._end

    @property
    def span(self) -> Span:
        """These bytes on the GPU."""
        return self.address, self.address + self.size

    @property
    def host_span(self) -> Span:
        """These bytes in pinned memory."""
        return self._pinned.ctypes.data, self._pinned.ctypes.data + self.size

    @property
    def addresses(self) -> list[int]:
        """The address of each value on the GPU."""
        return [self.address + offset for offset in self.offsets]

    @property
    def arrivals(self) -> list[tuple[DriverArrival, Span]]:
        """The values sent beside the stream: the arrival of each, and its bytes on the GPU."""
        starts = {n: self.address + self.offsets[n] for n in self._beside}
        spans = ((starts[n], starts[n] + self.views[n].nbytes) for n in self._beside)
        return list(zip(self._beside.values(), spans, strict=True)) if self.ahead else []

    def fill(self, values: Sequence[np.ndarray], told: bool) -> list[DriverEvent | DriverArrival]:
        """Take these values. Some are read where they lie: if `told`, when the GPU is done with them."""
        moments: list[DriverEvent | DriverArrival] = []
        reads = False  # in the stream
        for number, (view, value) in enumerate(zip(self.views, values, strict=True)):
            if view.nbytes < LARGE:
                view[...] = value
            elif not self.ahead:
                copy(view, value)
            elif not self._is_readable(value, view):
                for start, end in pieces(view, value):
                    self._send(number, view.ctypes.data, start, end)
            else:
                self._send(number, value.ctypes.data, 0, value.nbytes)
                if number not in self._beside:
                    reads = True
                elif told:
                    moments.append(self._beside[number])
        return [*moments, self.driver.event()] if reads and told else moments

    def _send(self, number: int, source: int, start: int, end: int) -> None:
        """Ask for a piece of a large value to be copied."""
        target, size = self.address + self.offsets[number] + start, end - start
        if (beside := self._beside.get(number)) is not None:
            beside.send(target, source + start, size)
        else:
            self.driver.copy(target, source + start, size, Direction.TO_DEVICE)

    def _is_readable(self, value: np.ndarray, view: np.ndarray) -> bool:
        """Return True if the GPU can read a value in place.

        The value must be pinned and contiguous, and have the dtype and shape of `view`.
        """
        alike = value.dtype == view.dtype and value.shape == view.shape and value.flags.c_contiguous
        return alike and self.driver.is_pinned(value.ctypes.data, value.nbytes)

    def send(self) -> None:
        """Ask for the copy to the GPU."""
        if self.size:
            self.driver.copy(self.address, self._pinned.ctypes.data, self.size, Direction.TO_DEVICE)

    def fetch(self) -> None:
        """Ask for the copy from the GPU."""
        if self.size:
            self.driver.copy(self._pinned.ctypes.data, self.address, self.size, Direction.FROM_DEVICE)


@dataclass(slots=True, eq=False)
class Slot:
    """One of the two sets of packets that runs use by turns: the host fills one while the GPU reads the
    other. `busy`: the moment from which on it is free again.
    """

    given: Packet
    made: Packet
    busy: DriverEvent | None = None

    def wait(self) -> None:
        """Return when the GPU no longer needs it."""
        if self.busy is not None:
            self.busy.wait()
            self.busy = None


def _bytes(type: TensorType) -> int:
    return math.prod(type.static_shape) * type.dtype.size


def send_constants(driver: Driver, constants: Constants, address: int) -> None:
    """Bring the constants of a program to where it reads them."""
    if len(constants):
        block = np.empty(len(constants), np.uint8)
        constants.write(block)
        driver.copy(address, block.ctypes.data, block.nbytes, Direction.TO_DEVICE)


class CardConstants:
    """The constants of a program in memory of a GPU, as long as somebody refers to them."""

    def __init__(self, device: Device, constants: Constants) -> None:
        self.address = device.allocate(max(len(constants), 1))
        finalize(self, device.release, [self.address]).atexit = False  # then it goes with the process
        send_constants(device.driver, constants, self.address)


PIECE = 2 << 20  # bytes that a thread copies at a time
_MOST_THREADS = 8  # which together copy as fast as memory is


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Make the elements of `target` those of `source`."""
    for _ in pieces(target, source):
        pass


def pieces(target: np.ndarray, source: np.ndarray) -> Iterator[tuple[int, int]]:
    """Copy, and tell which bytes of `target` are there, as (start, end), as soon as they are.

    >>> there = np.zeros(3, np.float32)
    >>> list(pieces(there, np.ones(3, np.float32))), there.tolist()
    ([(0, 12)], [1.0, 1.0, 1.0])
    """
    alike = source.dtype == target.dtype and source.shape == target.shape
    if target.nbytes <= PIECE or not (alike and _is_whole(source) and _is_whole(target)):
        target[...] = source
        yield 0, target.nbytes
        return
    to, of = (array.reshape(-1).view(np.uint8) for array in (target, source))
    spans = [(start, min(start + PIECE, len(to))) for start in range(0, len(to), PIECE)]
    asked = [_threads().submit(np.copyto, to[start:end], of[start:end]) for start, end in spans]
    for span, each in zip(spans, asked, strict=True):
        each.result()
        yield span


def _is_whole(array: np.ndarray) -> bool:
    """Return True if the bytes of an array are contiguous, in the order of its indices."""
    return array.flags.c_contiguous


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(_MOST_THREADS, os.cpu_count() or 1), "copying")


forks.in_child(lambda: _threads.cache_clear())  # a child has the threads of its parent in name only
