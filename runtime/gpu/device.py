"""A session's share of a GPU: its driver, the functions that are loaded, the memory that programs share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field, replace
from weakref import finalize

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.graph.errors import ResourceExhaustedError, UnimplementedError
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.lower.program import HostCall
from staticgraph.compiler.machine import GpuMachine, gpu_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.gpu.cuda.driver import Convolving, Driver, DriverKernel, Multiplication


@dataclass(frozen=True, slots=True)
class Image:
    """Functions, by name, that were compiled before, as from a file."""

    names: frozenset[str]
    data: bytes


# Performs a collective, from one address on the GPU to another.
Exchange = Callable[[HostCall, int, int], bool]


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class Device:
    """A driver and what was asked of it so far. What nobody closes is given back when nobody refers to it.

    `moved` changes whenever memory that programs share, or a variable's, gets another address: what was
    captured before is of no use then.
    """

    driver: Driver
    number: int = 0  # of the GPU
    moved: int = 0
    functions: int = 0  # that were loaded
    images: list[Image] = field(default_factory=list)
    exchange: Exchange | None = None  # does collectives from GPU to GPU; False if it cannot do one
    _kernels: dict[str, DriverKernel] = field(default_factory=dict)
    _products: dict[Product, Multiplication] = field(default_factory=dict)
    _convolutions: dict[Convolution, Convolving] = field(default_factory=dict)
    _refused: frozenset[Convolution] = frozenset()
    _arena: int = 0
    _arena_bytes: int = 0
    _closing: finalize[..., Device] = field(init=False)

    def __post_init__(self) -> None:
        self._closing = finalize(self, self.driver.close)
        self._closing.atexit = False  # then it goes with the process

    def __repr__(self) -> str:
        return f"<Device {self.name}, {self.driver.card.name!r}>"

    @property
    def name(self) -> str:
        """As in the names of TensorFlow's devices."""
        return f"GPU:{self.number}"

    @property
    def machine(self) -> GpuMachine:
        """The numbers that code is scheduled by.

        Code of a saved graph was scheduled for the default of the architecture, and is of use only if this
        session asks for the same functions.
        """
        card = self.driver.card
        found = gpu_of(card.architecture)
        return found if self.images else replace(found, multiprocessors=card.multiprocessors)

    def allocate(self, size: int) -> int:
        """The address of so many bytes of the GPU. Not while capturing.

        If there are not as many, the library of products does with less.
        """
        try:
            return self.driver.allocate(size)
        except ResourceExhaustedError:
            if not self._shrink():
                raise
        return self.driver.allocate(size)

    def _shrink(self) -> bool:
        """Have the library of products do with less memory. Return False if it does with the least."""
        self.driver.synchronize()
        if not self.driver.shrink():
            return False
        self._products.clear()
        self.moved += 1
        return True

    def arena(self, size: int) -> int:
        """The address of the memory that each program uses while it runs, at least as much as asked for."""
        if size > self._arena_bytes:
            self.driver.synchronize()
            if self._arena_bytes:
                self.driver.free(self._arena)
                self._arena_bytes = 0
            self._arena, self._arena_bytes = self.allocate(size), size
            self.moved += 1
        return self._arena

    def load(self, functions: Iterable[CudaFunction]) -> None:
        """Have the driver load those functions that are not loaded yet, from an image that has them all."""
        new = [f for f in functions if f.name not in self._kernels]
        if new:
            names = {f.name for f in new}
            loaded = self.driver.load(new, [image.data for image in self.images if names <= image.names])
            self._kernels.update(zip((f.name for f in new), loaded, strict=True))
            self.functions += len(new)

    def is_loaded(self, function: CudaFunction) -> bool:
        """Return True if a function is loaded."""
        return function.name in self._kernels

    def kernel(self, function: CudaFunction) -> DriverKernel:
        """A function that is loaded."""
        return self._kernels[function.name]

    def multiplication(self, product: Product) -> Multiplication:
        """A product, with the algorithm that was chosen for it."""
        if product not in self._products:
            self._products[product] = self.driver.multiplication(product)
        return self._products[product]

    @property
    def refused(self) -> frozenset[Convolution] | None:
        """The convolutions that its library is known not to do; None if there is no such library."""
        return self._refused if self.driver.convolutions else None

    def refuses(self, convolutions: Iterable[Convolution]) -> bool:
        """Return True if the library newly refuses one of these.

        All that it refuses are added to `refused`.
        """
        before = len(self._refused)
        for each in convolutions:
            try:
                self.convolution(each)
            except UnimplementedError:
                self._refused |= {each}
        return len(self._refused) > before

    def convolution(self, convolution: Convolution) -> Convolving:
        """A convolution, with the algorithm that was chosen for it."""
        if convolution not in self._convolutions:
            self._convolutions[convolution] = self.driver.convolution(convolution)
        return self._convolutions[convolution]

    def release(self, addresses: Iterable[int]) -> None:
        """Give memory back, when all that uses it is done."""
        if self._closing.alive:
            self.driver.synchronize()
            for address in addresses:
                self.driver.free(address)

    def close(self) -> None:
        """Give everything back."""
        self._closing()
