"""CuPy as far as `runtime/gpu` uses it: records every call in order, and plays a card's part on the host.

`SIGNATURES` says how many arguments CuPy's own functions take; a test compares it with CuPy where that is
installed. Addresses of the card are plain numbers, those of pinned memory are memory that exists.
"""

import ctypes
from types import SimpleNamespace
from typing import Any

# By module and function, as the first lines of CuPy's own docstrings have it.
SIGNATURES = {
    "runtime": {
        "setDevice": 1,
        "getDeviceProperties": 1,
        "malloc": 1,
        "free": 1,
        "hostAlloc": 2,
        "freeHost": 1,
        "memcpyAsync": 5,
        "memsetAsync": 4,
        "memGetInfo": 0,
        "pointerGetAttributes": 1,
        "streamEndCapture": 1,
        "graphDestroy": 1,
        "graphLaunch": 2,
    },
    "driver": {"launchKernel": 11, "funcGetAttribute": 2, "funcSetAttribute": 3},
}
PROPERTIES = {
    "name": b"NVIDIA H200",
    "major": 9,
    "minor": 0,
    "multiProcessorCount": 132,
    "totalGlobalMem": 141 << 30,
}
FREE, TOTAL = 100 << 30, 141 << 30
STREAM = 0x57
NODE = 0x7F00_0000_0000  # the first node of a graph
ILLEGAL_STATE, INVALID_VALUE = 401, 1  # of CUresult


class CUDAError(RuntimeError):
    """As CuPy's are: the status, and the text that CUDA has for it."""

    def __init__(self, status: int, text: str = "cudaErrorOfTheTest: as asked") -> None:
        super().__init__(text)
        self.status = status


class CUDARuntimeError(CUDAError):
    pass


class CUDADriverError(CUDAError):
    pass


class FakeCupy:
    """A module named cupy."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.failing: dict[str, list[CUDAError | None]] = {}  # by name: what the next calls raise
        self.pinned: dict[int, Any] = {}
        self.pool_bytes = 0
        self.shared = 0  # bytes that blocks may be given
        self.streams = 0
        self.capturing = False
        self.waits: list[tuple[int, ...]] = []  # of each node that was captured last
        self.after: tuple[int, ...] = ()  # what the next node waits for
        self.launched: list[tuple[tuple[int, ...], list[int]]] = []  # geometry and arguments
        self._next = 0x7000_0000_0000
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(
                CUDARuntimeError=CUDARuntimeError,
                hostAllocDefault=0,
                memoryTypeHost=1,
                streamCaptureModeThreadLocal=1,
                **{name: self._function(name, count) for name, count in SIGNATURES["runtime"].items()},
            ),
            driver=SimpleNamespace(
                CUDADriverError=CUDADriverError,
                **{name: self._function(name, count) for name, count in SIGNATURES["driver"].items()},
            ),
            Stream=lambda non_blocking: Stream(self, non_blocking),
            Event=lambda disable_timing: Event(self, disable_timing),
            Module=lambda: Module(self),
        )

    def fail(self, name: str, *errors: CUDAError | None) -> None:
        """Make the next calls of a function raise an error, None for no error."""
        self.failing[name] = list(errors)

    def get_default_memory_pool(self) -> Any:
        return SimpleNamespace(
            free_bytes=lambda: self.pool_bytes, free_all_blocks=lambda: self.call("free_all_blocks")
        )

    @property
    def names(self) -> list[str]:
        """Names of the functions that were called, without `setDevice` and `pointerGetAttributes`."""
        return [name for name, _ in self.calls if name not in ("setDevice", "pointerGetAttributes")]

    def given(self, name: str) -> list[tuple[Any, ...]]:
        """The arguments of every call of a function."""
        return [arguments for called, arguments in self.calls if called == name]

    def call(self, name: str, *arguments: Any) -> Any:
        self.calls.append((name, arguments))
        waiting = self.failing.get(name)
        if waiting and (error := waiting.pop(0)):
            raise error
        if self.capturing and name in ("memcpyAsync", "memsetAsync", "launchKernel"):
            self.waits.append(self.after)
            self.after = (NODE + len(self.waits) - 1,)
        act = getattr(self, f"_{name}", None)
        return act(*arguments) if act else None

    def _function(self, name: str, count: int) -> Any:
        def function(*arguments: Any) -> Any:
            assert len(arguments) == count, f"{name} takes {count} arguments"
            return self.call(name, *arguments)

        return function

    def _getDeviceProperties(self, index: int) -> dict[str, Any]:
        return PROPERTIES

    def _malloc(self, size: int) -> int:
        self._next += 256 * -(-size // 256)
        return self._next

    def _hostAlloc(self, size: int, flags: int) -> int:
        memory = (ctypes.c_ubyte * size)()
        self.pinned[ctypes.addressof(memory)] = memory
        return ctypes.addressof(memory)

    def _freeHost(self, address: int) -> None:
        del self.pinned[address]

    def _pointerGetAttributes(self, address: int) -> Any:
        pinned = any(start <= address < start + len(memory) for start, memory in self.pinned.items())
        return SimpleNamespace(type=int(pinned))

    def _memGetInfo(self) -> tuple[int, int]:
        return FREE, TOTAL

    def _streamEndCapture(self, stream: int) -> int:
        self.capturing = False
        return 0x6EA4

    def _funcSetAttribute(self, function: int, attribute: int, value: int) -> None:
        assert attribute == 8  # the most shared memory that a block is given
        self.shared = value

    def _launchKernel(self, function: int, *rest: int) -> None:
        """Read the arguments before it returns, as CUDA does."""
        *geometry, shared, stream, table, extra = rest
        assert (shared in (0, self.shared), stream, extra) == (True, STREAM, 0)
        count = (function >> 8) & 0xFF
        pointers = (ctypes.c_void_p * count).from_address(table)
        values = [ctypes.c_uint64.from_address(pointer).value for pointer in pointers]
        self.launched.append(((function, *geometry), values))


class FakeLibcuda:
    """libcuda as far as edges of graphs go; that of CUDA 12.3 and later tells `kinds` of edges, too."""

    def __init__(self, cupy: FakeCupy, kinds: bool) -> None:
        self.cupy = cupy
        if kinds:
            self.cuStreamGetCaptureInfo_v3 = self._told

    def cuStreamUpdateCaptureDependencies(self, stream: Any, nodes: Any, count: Any, flags: Any) -> int:
        assert (stream.value, flags.value) == (STREAM, 1)
        given = tuple(nodes[n] for n in range(count.value))
        if not self.cupy.capturing:
            return ILLEGAL_STATE
        if len(set(given)) < len(given) or not all(
            NODE <= node < NODE + len(self.cupy.waits) for node in given
        ):
            return INVALID_VALUE
        self.cupy.after = given
        return 0

    def cuStreamGetCaptureInfo_v2(
        self, stream: Any, state: Any, capture: Any, graph: Any, nodes: Any, count: Any
    ) -> int:
        return self._told(stream, state, capture, graph, nodes, None, count)

    def _told(
        self, stream: Any, state: Any, capture: Any, graph: Any, nodes: Any, kinds: Any, count: Any
    ) -> int:
        assert stream.value == STREAM and type(count._obj) is ctypes.c_size_t
        assert [type(each._obj) for each in (state, capture, graph)] == [
            ctypes.c_int,
            ctypes.c_uint64,
            ctypes.c_void_p,
        ]
        state._obj.value = int(self.cupy.capturing)
        self.array = (ctypes.c_void_p * len(self.cupy.after))(*self.cupy.after)  # which the library keeps
        pointer = ctypes.cast(self.array, ctypes.POINTER(ctypes.c_void_p))
        ctypes.memmove(ctypes.addressof(nodes._obj), ctypes.addressof(pointer), ctypes.sizeof(pointer))
        count._obj.value = len(self.cupy.after)
        return 0


class Stream:
    """cupy.cuda.Stream."""

    def __init__(self, cupy: FakeCupy, non_blocking: bool) -> None:
        assert non_blocking, "the legacy stream cannot capture"
        self.cupy, self.ptr = cupy, STREAM + cupy.streams
        cupy.streams += 1

    def begin_capture(self, mode: int) -> None:
        self.cupy.call("begin_capture", mode)
        self.cupy.capturing, self.cupy.waits, self.cupy.after = True, [], ()

    def end_capture(self) -> Any:
        self.cupy.capturing = False
        self.cupy.call("end_capture")
        return SimpleNamespace(
            graphExec=0xE4EC,
            upload=lambda stream: self.cupy.call("upload", stream.ptr),
            debug_dot_str=lambda flags: f"digraph with {flags}",
        )

    def synchronize(self) -> None:
        self.cupy.call("synchronize")

    def wait_event(self, event: "Event") -> None:
        self.cupy.call("wait_event", self.ptr)


class Event:
    """cupy.cuda.Event."""

    ptr = 0xE1

    def __init__(self, cupy: FakeCupy, disable_timing: bool) -> None:
        assert disable_timing
        self.cupy = cupy

    def record(self, stream: Stream) -> None:
        self.cupy.call("record", stream.ptr)

    def synchronize(self) -> None:
        self.cupy.call("event.synchronize")


class Module:
    """cupy.cuda.Module. An image is `b"cubin sm_90 name:arguments ..."` here."""

    def __init__(self, cupy: FakeCupy) -> None:
        self.cupy = cupy

    def load(self, image: bytes) -> None:
        assert isinstance(image, bytes)
        self.cupy.call("module.load", image)
        _, architecture, *functions = image.decode().split()
        if architecture != "sm_90":
            raise CUDADriverError(209, "CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image")
        self.functions = dict(function.split(":") for function in functions)

    def get_function(self, name: str) -> Any:
        if name not in self.functions:
            raise CUDADriverError(500, "CUDA_ERROR_NOT_FOUND: named symbol not found")
        return SimpleNamespace(ptr=0x10000 + (int(self.functions[name]) << 8))
