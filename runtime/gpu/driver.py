"""What the rest of the runtime needs of a GPU: memory, copies, functions, products, captured graphs.

There are two drivers. That of CuPy drives a card. The stand-in compiles the same functions for the
processor and enforces the rules of a card, so that all that is above this interface can be tested anywhere.
Addresses are integers, on the card or, of pinned memory, on the host. All work goes to one stream: what is
asked for first is done first, and nothing is waited for until `synchronize`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.codegen.cuda.function import Function
from staticgraph.compiler.codegen.cuda.product import Product


class Direction(Enum):
    """Where a copy goes from, and where to."""

    TO_DEVICE = "host to device"
    FROM_DEVICE = "device to host"
    ON_DEVICE = "device to device"


class Graph(Protocol):
    """Work that was captured, to be asked for again by one call."""

    def replay(self) -> None:
        """Ask for all of it."""


class Kernel(Protocol):
    """A function that is loaded."""

    def __call__(self, arguments: Sequence[int]) -> None:
        """Ask for a run of it, with these addresses as arguments."""


class Multiplication(Protocol):
    """A product whose algorithm is chosen."""

    def __call__(self, a: int, b: int, out: int) -> None:
        """Ask for it, with these addresses as operands."""


class Event(Protocol):
    """A moment in the stream."""

    def wait(self) -> None:
        """Return when all that was asked for before it is done."""


class Mark(Protocol):
    """A moment in the stream whose time is taken: in each replay, where it was captured."""

    def since(self, earlier: Any) -> float:
        """Nanoseconds from an earlier mark to this one, when both are done."""


@dataclass(frozen=True, slots=True)
class Card:
    """What is known of a card: its name, architecture as in "sm_90", multiprocessors, bytes of memory."""

    name: str
    architecture: str
    multiprocessors: int
    memory: int


class Driver(Protocol):
    """A card, or what stands in for one. Not for two threads at once."""

    card: Card

    def allocate(self, size: int) -> int:
        """The address of `size` bytes on the card, a multiple of 256. Not while capturing.

        ResourceExhaustedError where there is not as much left.
        """

    def free(self, address: int) -> None:
        """Give memory of the card back."""

    def pinned(self, size: int) -> np.ndarray:
        """As many bytes of the host's memory that a captured copy may read or write; they live as long as
        the array.
        """

    def copy(self, target: int, source: int, size: int, direction: Direction) -> None:
        """Copy bytes. While capturing, memory of the host must be pinned; otherwise, the copy is done when
        the call returns if it is not.
        """

    def clear(self, address: int, size: int) -> None:
        """Ask for bytes of the card to be zero."""

    def load(self, functions: Sequence[Function], images: Sequence[bytes] = ()) -> Sequence[Kernel]:
        """Compile functions, all in one go, or take them from a compiled image that fits the card."""

    def image(self, functions: Sequence[Function]) -> bytes:
        """The functions in compiled form, for this card, to be kept in a file."""

    def multiplication(self, product: Product) -> Multiplication:
        """A product, ready to be captured."""

    def begin_capture(self) -> None:
        """From now on, work is not done but captured."""

    def end_capture(self) -> Graph:
        """What was captured."""

    def abandon_capture(self) -> None:
        """Forget what was captured, after an error. Does nothing where nothing is being captured."""

    def event(self) -> Event:
        """The present moment in the stream."""

    def mark(self) -> Mark:
        """The present moment in the stream, whose time is to be taken. It may be captured."""

    def another(self) -> Driver:
        """A driver of the same card, with a stream of its own."""

    def synchronize(self) -> None:
        """Wait until all is done. Not while capturing."""

    def free_memory(self) -> int:
        """Bytes of the card that nobody uses."""

    def close(self) -> None:
        """Give everything back. The driver cannot be used any more."""
