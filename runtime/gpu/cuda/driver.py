"""Driver interface of a GPU: memory, copies, functions, products, convolutions and graphs.

There are two drivers. CuPy's driver runs a GPU. The simulator compiles the same functions for the CPU and
enforces the rules of a GPU, so that everything above this interface can be tested anywhere. Addresses are
integers, on the GPU or, for pinned memory, on the host. All work goes to one stream. Work is done in the
order in which it was enqueued, and nothing is waited for until `synchronize`. Only work in a graph may run
concurrently, if `wait_for` allows it during the capture.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Any, Protocol

import numpy as np

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.kernel.schedule_gpu.function import Extents
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.support.dataclass import dataclass


class Direction(Enum):
    """Source and target of a copy."""

    TO_DEVICE = "host to device"
    FROM_DEVICE = "device to host"
    ON_DEVICE = "device to device"


class DriverGraph(Protocol):
    """Work that was captured, to be asked for again by one call."""

    def replay(self) -> None:
        """Ask for all of it."""


class DriverKernel(Protocol):
    """A function that is loaded."""

    def __call__(
        self, addresses: Sequence[int], sizes: Sequence[int] = (), grid: Extents | None = None
    ) -> None:
        """Ask for a run of it with these arguments, by its own number of blocks or this one."""

    def ready(self) -> None:
        """Have the GPU load it, so that its first call may be captured. Not while capturing."""


class Multiplication(Protocol):
    """A product whose algorithm is chosen.

    `workspaces`: pieces of memory, as (start, end), of which each run of it needs one for itself; there are
    none if it needs none.
    """

    @property
    def workspaces(self) -> Sequence[tuple[int, int]]: ...

    def __call__(self, a: int, b: int, out: int, pointers: int = 0, /, *, workspace: int = 0) -> None:
        """Ask for it, with these addresses as operands, that of the pointers if the product has them, and
        the number of a workspace.
        """


class Convolving(Protocol):
    """A convolution whose algorithm is chosen."""

    def __call__(self, image: int, filter: int, result: int, workspace: int) -> None:
        """Ask for it, with these addresses of its arrays, and that of as much memory as it may have."""


class DriverEvent(Protocol):
    """A moment in the stream."""

    def wait(self) -> None:
        """Return when all that was asked for before it is done."""


class DriverArrival(Protocol):
    """Copies to the GPU beside the stream, and the moment when those asked for so far are done."""

    def send(self, target: int, source: int, size: int) -> None:
        """Ask for a copy of pinned memory. Not while capturing."""

    def awaited(self) -> None:
        """Have what the stream is asked for next wait for them: in a replay, for those sent before it."""

    def wait(self) -> None:
        """Return when they are done."""


class DriverMark(Protocol):
    """A moment in the stream whose time is taken: in each replay, where it was captured."""

    def since(self, earlier: Any) -> float:
        """Nanoseconds from an earlier mark to this one, when both are done."""


@dataclass(frozen=True, slots=True)
class Card:
    """Properties of a GPU: its name, architecture as in "sm_90", multiprocessors, bytes of memory."""

    name: str
    architecture: str
    multiprocessors: int
    memory: int


class Driver(Protocol):
    """A GPU, or what stands in for one. Not for two threads at once."""

    card: Card
    convolutions: bool  # whether there is a library that does them
    overlaps: bool  # whether what is captured can be told what to wait for
    card_number: str  # which tells this GPU from others of the machine

    @property
    def nccl(self) -> Any:
        """CuPy's module of NCCL, or None if there is none."""

    @property
    def stream_pointer(self) -> int:
        """The address of the stream, for NCCL."""

    def is_done(self) -> bool:
        """Return True if all that was asked for is done. Not while capturing."""

    def allocate(self, size: int) -> int:
        """The address of `size` bytes on the GPU, a multiple of 256. Not while capturing.

        ResourceExhaustedError if there is not as much left.
        """

    def free(self, address: int) -> None:
        """Give memory of the GPU back."""

    def pinned(self, size: int) -> np.ndarray:
        """Allocate bytes of the host's memory that a captured copy may read or write; they live as long as
        the array.
        """

    def is_pinned(self, address: int, size: int) -> bool:
        """Return True if these bytes of the host are pinned, by this driver or anyone in this process."""

    def copy(self, target: int, source: int, size: int, direction: Direction) -> None:
        """Copy bytes. While capturing, memory of the host must be pinned; otherwise, the copy is done when
        the call returns if it is not.
        """

    def clear(self, address: int, size: int) -> None:
        """Ask for bytes of the GPU to be zero."""

    def load(self, functions: Sequence[CudaFunction], images: Sequence[bytes] = ()) -> Sequence[DriverKernel]:
        """Compile functions, all in one go, or take them from a compiled image that fits the GPU."""

    def image(self, functions: Sequence[CudaFunction]) -> bytes:
        """The functions in compiled form, for this GPU, to be kept in a file."""

    def multiplication(self, product: Product) -> Multiplication:
        """A product, ready to be captured. ResourceExhaustedError if the library finds no memory at all."""

    def convolution(self, convolution: Convolution) -> Convolving:
        """A convolution, ready to be captured. UnimplementedError if the library has no algorithm for it
        that gives the same bits in every run, with all bits of the operands unless it may round them.
        """

    def shrink(self) -> bool:
        """Give back memory that the library of products works in. Return False if it does with the least.

        Products that were prepared before are of no use then. Not while capturing.
        """

    def begin_capture(self) -> None:
        """From now on, work is not done but captured."""

    def wait_for(self, nodes: Collection[int]) -> None:
        """While capturing: have what is asked for next wait for these nodes of the graph, different ones, and
        for nothing else. Without it, that waits for what was asked for just before.
        """

    def waits(self) -> tuple[int, ...]:
        """While capturing: what the next piece of work waits for; when these are done, so is the last one."""

    def end_capture(self) -> DriverGraph:
        """End the capture and return its graph."""

    def abandon_capture(self) -> None:
        """Forget what was captured, after an error. Does nothing where nothing is being captured."""

    def event(self) -> DriverEvent:
        """The present moment in the stream."""

    def arrival(self) -> DriverArrival:
        """A way for copies that are done while the stream works on something else."""

    def mark(self) -> DriverMark:
        """The present moment in the stream, whose time is to be taken. It may be captured."""

    def another(self) -> Driver:
        """A driver of the same GPU, with a stream of its own."""

    def synchronize(self) -> None:
        """Wait until all is done. Not while capturing."""

    def free_memory(self) -> int:
        """Bytes of the GPU that nobody uses."""

    def close(self) -> None:
        """Give everything back. The driver cannot be used any more."""
