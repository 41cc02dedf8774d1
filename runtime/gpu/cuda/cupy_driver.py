"""The driver of a GPU, over CuPy: its thin functions of CUDA's, and nothing of its arrays.

Memory is CUDA's own and not of CuPy's pool. Kernels are compiled by `nvrtc`, so that CUDA's headers are not
needed and small numbers are not flushed to zero. Products are asked of cuBLAS directly, convolutions of
cuDNN where that is installed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import weakref
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from staticgraph.compiler.codegen.cuda.function import CudaFunction
from staticgraph.compiler.graph.errors import OpError, ResourceExhaustedError, UnimplementedError
from staticgraph.compiler.kernel.schedule_gpu.products.convolution import Convolution
from staticgraph.compiler.kernel.schedule_gpu.products.product import Product
from staticgraph.compiler.lower.buffer_assignment import size_text
from staticgraph.runtime.gpu.cuda import cudnn, nvrtc
from staticgraph.runtime.gpu.cuda import nvrtc as in_groups
from staticgraph.runtime.gpu.cuda.connection import KINDS, Connection
from staticgraph.runtime.gpu.cuda.cublas import LEAST_WORKSPACE, Cublas, Multiply, library, workspace_size
from staticgraph.runtime.gpu.cuda.cublas_lt import CublasLt
from staticgraph.runtime.gpu.cuda.driver import Card, Direction
from staticgraph.runtime.gpu.cuda.failure import NO_BINARY, NOT_FOUND, OUT_OF_MEMORY, explained
from staticgraph.runtime.gpu.cuda.moments import Arrival, Event, Mark
from staticgraph.runtime.gpu.graphs.edges import edges
from staticgraph.runtime.gpu.graphs.launches import InstantiatedGraph, LoadedKernel
from staticgraph.runtime.gpu.graphs.spans import Spans

_PRODUCTS = 2  # with the largest workspaces, side by side
_WAITING = "waiting for the GPU"


class CupyDriver(Connection):
    """A GPU, which CuPy counts as `index`: see `Driver` for what each method does."""

    def __init__(self, index: int = 0) -> None:
        super().__init__(index)
        self._sizes: dict[int, int] = {}  # of memory on the GPU, by address
        self._pinned = Spans()  # of memory of the host
        self._side: Any = None  # the stream of copies that are done beside other work
        self._libraries: tuple[CublasLt, Cublas] | None = None
        self._shrunk = False  # whether they are to have the least memory
        self._cudnn: cudnn.Cudnn | None = None
        self._collecting = False
        self._edges = edges(self.stream.ptr)
        self.overlaps = self._edges is not None
        self.convolutions = cudnn.lacking() is None
        about = self.about
        self.card_number = " ".join(
            str(about.get(f"pci{part}ID", index)) for part in ("Domain", "Bus", "Device")
        )
        self.card = Card(
            about["name"].decode(errors="replace"),
            f"sm_{about['major']}{about['minor']}",
            about["multiProcessorCount"],
            about["totalGlobalMem"],
        )

    def allocate(self, size: int) -> int:
        self._refuse("to allocate memory")
        try:
            self.enter()
            address = self._allocated(max(size, 1))
        except self.errors as error:
            if error.status != OUT_OF_MEMORY:
                raise explained(error, f"to allocate {size_text(size)}") from None
            raise self._exhausted(size) from None
        self._sizes[address] = size
        return address

    def _allocated(self, size: int) -> int:
        pool = self.cupy.get_default_memory_pool()
        try:
            return self.runtime.malloc(size)
        except self.errors as error:
            if error.status != OUT_OF_MEMORY or not pool.free_bytes():
                raise
            pool.free_all_blocks()  # what CuPy keeps of arrays that the program is done with
            return self.runtime.malloc(size)

    def _exhausted(self, size: int) -> ResourceExhaustedError:
        return ResourceExhaustedError(
            f"the GPU has no {size_text(size)} left: of its {size_text(self.card.memory)}, "
            f"{size_text(self.free_memory())} are free, and this session has "
            f"{size_text(sum(self._sizes.values()))}",
            hint="nvidia-smi shows what other processes have",
        )

    def free(self, address: int) -> None:
        self._refuse("to free memory")
        del self._sizes[address]
        try:
            self.enter()
            self.runtime.free(address)
        except self.errors as error:
            raise explained(error, "to free memory") from None

    def pinned(self, size: int) -> np.ndarray:
        self._refuse("to pin memory")
        try:
            self.enter()
            address = self.runtime.hostAlloc(max(size, 1), self.runtime.hostAllocDefault)
        except self.errors as error:
            what = f"to pin {size_text(size)} of the host's memory"
            if error.status == OUT_OF_MEMORY:
                raise ResourceExhaustedError(f"{what}: there is not as much left") from None
            raise explained(error, what) from None
        memory: Any = (ctypes.c_ubyte * size).from_address(address)  # which every view of it refers to
        self._pinned.add(address, size)
        release = weakref.finalize(memory, _unpin, self.runtime.freeHost, self._pinned, address)
        release.atexit = False  # it goes with the process, whose CUDA may have ended by then
        return np.frombuffer(memory, np.uint8)

    def is_pinned(self, address: int, size: int) -> bool:
        if self._pinned.find(address, size) is not None:
            return True
        try:
            self.enter()
            ends = address, address + max(size, 1) - 1
            kinds = {self.runtime.pointerGetAttributes(end).type for end in ends}
        except self.errors as error:
            raise explained(error, "to find out about memory of the host") from None
        return kinds == {self.runtime.memoryTypeHost}

    def copy(self, target: int, source: int, size: int, direction: Direction) -> None:
        pageable = False
        if direction is not Direction.ON_DEVICE:
            pageable = not self.is_pinned(source if direction is Direction.TO_DEVICE else target, size)
        if pageable:
            self._refuse("to copy memory that is not pinned")
        try:
            self.enter()
            self.runtime.memcpyAsync(target, source, size, KINDS[direction], self.stream.ptr)
            if pageable:
                self.stream.synchronize()
        except self.errors as error:
            raise explained(error, f"to copy {size_text(size)} from {direction.value}") from None

    def clear(self, address: int, size: int) -> None:
        try:
            self.enter()
            self.runtime.memsetAsync(address, 0, size, self.stream.ptr)
        except self.errors as error:
            raise explained(error, f"to clear {size_text(size)}") from None

    def load(self, functions: Sequence[CudaFunction], images: Sequence[bytes] = ()) -> list[LoadedKernel]:
        self._refuse("to load kernels")
        self.enter()
        for image in images:
            if found := self._loaded(functions, image):
                return found
        made: list[LoadedKernel] = []
        for part, image in in_groups.compiled(functions, self.card.architecture):
            found = self._loaded(part, image)
            if found is None:
                raise OpError(f"kernels compiled for {self.card.architecture} do not run on this GPU")
            made += found
        return made

    def _loaded(self, functions: Sequence[CudaFunction], image: bytes) -> list[LoadedKernel] | None:
        """The functions of an image; None if it is for other GPUs, or has not all of them."""
        module = self.cupy.cuda.Module()
        try:
            module.load(image)
            return [LoadedKernel(self, module, function) for function in functions]
        except self.errors as error:
            if error.status in (NO_BINARY, NOT_FOUND):
                return None
            raise explained(error, "to load kernels") from None

    def image(self, functions: Sequence[CudaFunction]) -> bytes:
        """As in `Driver`: a cubin."""
        return nvrtc.compile(functions, self.card.architecture)

    def multiplication(self, product: Product) -> Multiply:
        self._refuse("to choose how to multiply")
        self.enter()
        if self._libraries is None:
            self._libraries = self._started()
        planning, cublas = self._libraries
        return planning.multiplication(product) or cublas.multiplication(product)

    def _started(self) -> tuple[CublasLt, Cublas]:
        """Start cuBLAS with as much memory to work in as there is, up to what it should have."""
        most = workspace_size(self.card.architecture)
        sizes = [(most, _PRODUCTS), (most, 1), (most // 8, 1), (LEAST_WORKSPACE, 1)]
        size, count = sizes.pop() if self._shrunk else sizes.pop(0)
        while True:
            try:
                workspace = self.allocate(count * size)
                break
            except ResourceExhaustedError:
                if size == LEAST_WORKSPACE:
                    raise
                size, count = sizes.pop(0)
        try:
            cublas = Cublas(library("cublas"), self.stream.ptr, workspace, size, count)
        except OpError:
            self.free(workspace)
            raise
        return CublasLt(library("cublasLt"), cublas), cublas

    def shrink(self) -> bool:
        self._refuse("to give memory of a library back")
        if self._libraries is None or self._libraries[1].workspace_size == LEAST_WORKSPACE:
            return False
        _, cublas = self._libraries
        self._libraries, self._shrunk = None, True
        self.enter()
        cublas.close()
        self.free(cublas.workspace)
        return True

    def convolution(self, convolution: Convolution) -> cudnn.Convolve:
        self._refuse("to choose how to convolve")
        self.enter()
        if self._cudnn is None:
            try:
                self._cudnn = cudnn.Cudnn(cudnn.frontend(library), self.stream.ptr)
            except UnimplementedError:
                self.convolutions = False
                raise
        return self._cudnn.convolution(convolution)

    def begin_capture(self) -> None:
        try:
            self.enter()
            self.stream.begin_capture(self.runtime.streamCaptureModeThreadLocal)
        except self.errors as error:
            raise explained(error, "to capture a step") from None
        self.capturing = True
        # What is found to be garbage may hold memory of the GPU: to free it would end the capture.
        self._collecting = gc.isenabled()
        gc.disable()

    def wait_for(self, nodes: Collection[int]) -> None:
        assert self._edges is not None
        self.enter()
        self._edges.replace(nodes)

    def waits(self) -> tuple[int, ...]:
        assert self._edges is not None
        return self._edges.nodes()

    def end_capture(self) -> InstantiatedGraph:
        self._stop_capturing()
        try:
            graph = self.stream.end_capture()
            graph.upload(self.stream)
        except self.errors as error:
            raise explained(error, "to make a graph of a captured step") from None
        return InstantiatedGraph(self, graph)

    def abandon_capture(self) -> None:
        if self.capturing:
            self._stop_capturing()
            with contextlib.suppress(*self.errors):  # a capture that failed ends with an error again
                self.runtime.graphDestroy(self.runtime.streamEndCapture(self.stream.ptr))

    def _stop_capturing(self) -> None:
        self.capturing = False
        if self._collecting:
            gc.enable()

    def event(self) -> Event:
        try:
            self.enter()
            event = self.idle.pop() if self.idle else self.cupy.cuda.Event(disable_timing=True)
            event.record(self.stream)
        except self.errors as error:
            raise explained(error, "to mark a moment") from None
        return Event(self, event)

    def arrival(self) -> Arrival:
        try:
            self.enter()
            self._side = self._side or self.cupy.cuda.Stream(non_blocking=True)
            return Arrival(self, self._side)
        except self.errors as error:
            raise explained(error, "to have copies done beside other work") from None

    def mark(self) -> Mark:
        try:
            self.enter()
            return Mark(self)
        except self.errors as error:
            raise explained(error, "to take the time") from None

    def another(self) -> CupyDriver:
        return CupyDriver(self.index)

    @cached_property
    def nccl(self) -> Any:
        try:
            from cupy.cuda import nccl
        except ImportError:
            return None
        return nccl if getattr(nccl, "available", False) else None

    @property
    def stream_pointer(self) -> int:
        return int(self.stream.ptr)

    def is_done(self) -> bool:
        self._refuse("to ask if it is done")
        try:
            return bool(self.stream.done)
        except self.errors as error:
            raise explained(error, _WAITING) from None

    def synchronize(self) -> None:
        self._refuse("to wait")
        try:
            self.stream.synchronize()
        except self.errors as error:
            raise explained(error, _WAITING) from None

    def free_memory(self) -> int:
        self.enter()
        free, _ = self.runtime.memGetInfo()
        return free

    def close(self) -> None:
        self.abandon_capture()
        with contextlib.suppress(*self.errors, OpError):  # what a GPU that failed had goes with the process
            self.synchronize()
            if self._side is not None:
                self._side.synchronize()
            if self._libraries is not None:
                self._libraries[1].close()
            if self._cudnn is not None:
                self._cudnn.close()
            for address in list(self._sizes):
                self.free(address)
        self._libraries = self._cudnn = None
        self._sizes.clear()
        self.idle.clear()

    def _refuse(self, what: str) -> None:
        if self.capturing:
            raise RuntimeError(f"a capture does not allow {what}")


def _unpin(free: Callable[[int], None], pinned: Spans, address: int) -> None:
    pinned.remove(address)
    with contextlib.suppress(RuntimeError):  # CUDA's, on a GPU that failed
        free(address)
