"""What goes to the card and comes back in each run, packed: one copy for all feeds, one for all fetches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field

import numpy as np

from staticgraph.compiler.dataclass import dataclass
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.lower.constants import Constants
from staticgraph.runtime.gpu.driver import Direction, Driver, Event
from staticgraph.runtime.gpu.order import Span
from staticgraph.runtime.memory import storage_dtype

_LINE = 256  # bytes that addresses on a card are multiples of


@dataclass(slots=True, eq=False)
class Packet:
    """Values of these types one after the other: on the card from `address`, on the host in pinned memory."""

    driver: Driver
    types: Sequence[TensorType]
    address: int = field(init=False)
    size: int = field(init=False)
    offsets: list[int] = field(init=False)
    views: list[np.ndarray] = field(init=False)  # of the pinned memory
    _pinned: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.offsets, self.size = [], 0
        for type in self.types:
            self.offsets.append(self.size)
            self.size += max(-(-_bytes(type) // _LINE), 1) * _LINE  # what is empty has an address too
        self.address = self.driver.allocate(max(self.size, 1))
        self._pinned = self.driver.pinned(max(self.size, 1))
        self.views = [
            self._pinned[o : o + _bytes(t)].view(storage_dtype(t.dtype)).reshape(t.static_shape)
            for o, t in zip(self.offsets, self.types, strict=True)
        ]

    @property
    def span(self) -> Span:
        """Its bytes on the card."""
        return self.address, self.address + self.size

    @property
    def host_span(self) -> Span:
        """Its bytes in pinned memory."""
        return self._pinned.ctypes.data, self._pinned.ctypes.data + self.size

    @property
    def addresses(self) -> list[int]:
        """Where each value is on the card."""
        return [self.address + offset for offset in self.offsets]

    def send(self) -> None:
        """Ask for the copy to the card."""
        if self.size:
            self.driver.copy(self.address, self._pinned.ctypes.data, self.size, Direction.TO_DEVICE)

    def fetch(self) -> None:
        """Ask for the copy from the card."""
        if self.size:
            self.driver.copy(self._pinned.ctypes.data, self.address, self.size, Direction.FROM_DEVICE)


@dataclass(slots=True, eq=False)
class Slot:
    """One of the two sets of packets that runs use by turns: the host fills one while the card reads the
    other. `busy`: the moment from which on it is free again.
    """

    given: Packet
    made: Packet
    busy: Event | None = None

    def wait(self) -> None:
        """Return when the card no longer needs it."""
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
