"""The driver over CuPy, on a CuPy of our own that records what it is asked for."""

import ctypes
import gc
import re
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import CudaFunction, Parameter, call
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.graph.errors import (
    FailedPreconditionError,
    OpError,
    ResourceExhaustedError,
    UnavailableError,
)
from staticgraph.compiler.graph.size_contexts import naming
from staticgraph.compiler.graph.sizes import at_least, symbol
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Precision, Product
from staticgraph.runtime.gpu.cuda import cupy_driver
from staticgraph.runtime.gpu.cuda import nvrtc as in_groups
from staticgraph.runtime.gpu.cuda.cupy_driver import CupyDriver
from staticgraph.runtime.gpu.cuda.driver import Card, Direction
from staticgraph.runtime.gpu.graphs import edges
from staticgraph.runtime.gpu.graphs.order import Overlap
from tests.gpu.fake_cublas import FakeCublas, FakeCublasLt
from tests.gpu.fake_cupy import (
    FREE,
    NODE,
    SIGNATURES,
    STREAM,
    CUDADriverError,
    CUDARuntimeError,
    FakeCupy,
    FakeLibcuda,
)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    fake = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(edges, "libcuda", lambda: None)
    return fake


@pytest.fixture
def card(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> CupyDriver:
    def compiled(functions: list[CudaFunction], architecture: str) -> bytes:
        cupy.call("compile", architecture)
        return f"cubin {architecture} {' '.join(f'{f.name}:2' for f in functions)}".encode()

    monkeypatch.setattr(cupy_driver.nvrtc, "compile", compiled)
    libraries = {"cublas": FakeCublas(), "cublasLt": FakeCublasLt()}
    monkeypatch.setattr(cupy_driver, "library", libraries.__getitem__)
    made = CupyDriver()
    cupy.calls.clear()
    cupy.libraries = libraries
    return made


def function(body: str, grid: int = 3) -> CudaFunction:
    pair = [Parameter("x", float32), Parameter("y", float32, written=True)]
    return call("test", pair, body, (grid, 2, 1), (64, 1, 1)).function


GRID = (at_least(-(-symbol("n") // 256), 1), 1, 1)
FIRST, SECOND = function("y[0] = x[0];"), function("y[0] = 2.0f * x[0];", grid=5)


def test_the_card_is_described(cupy):
    made = CupyDriver(1)
    assert made.card == Card("NVIDIA H200", "sm_90", 132, 141 << 30)
    assert cupy.given("setDevice") == [(1,)] and cupy.given("getDeviceProperties") == [(1,)]


def test_memory_is_allocated_and_given_back(card, cupy):
    address = card.allocate(1000)
    card.free(address)
    assert cupy.names == ["malloc", "free"] and cupy.given("free") == [(address,)]


def test_an_empty_buffer_has_an_address_too(card, cupy):
    card.allocate(0)
    assert cupy.given("malloc") == [(1,)]


def test_without_memory_the_error_has_the_sizes(card, cupy):
    card.allocate(2 << 30)
    cupy.fail("malloc", CUDARuntimeError(2))
    with pytest.raises(ResourceExhaustedError) as raised:
        card.allocate(120 << 30)
    assert str(raised.value) == (
        "the GPU has no 120.0 GB left: of its 141.0 GB, 100.0 GB are free, and this session has 2.0 GB"
    )
    assert "free_all_blocks" not in cupy.names


def test_memory_that_cupy_keeps_for_itself_is_used_before_an_error(card, cupy):
    cupy.pool_bytes = 1 << 30
    cupy.fail("malloc", CUDARuntimeError(2))
    card.allocate(1 << 20)
    assert cupy.names == ["malloc", "free_all_blocks", "malloc"]


def test_pinned_memory_lives_as_long_as_any_view_of_it(card, cupy):
    array = card.pinned(64)
    assert array.dtype == np.uint8 and array.shape == (64,)
    view = array[8:40].view(np.float32)
    view[:] = 7
    del array
    gc.collect()
    assert list(cupy.pinned) and (view == 7).all()
    del view
    gc.collect()
    assert not cupy.pinned and cupy.names == ["hostAlloc", "freeHost"]


def test_it_is_told_which_memory_is_short(card, cupy):
    cupy.fail("hostAlloc", CUDARuntimeError(2))
    with pytest.raises(ResourceExhaustedError, match=r"to pin 4\.0 GB of the host's memory"):
        card.pinned(4 << 30)


def test_a_copy_is_asked_for_on_the_stream(card, cupy):
    pinned, other = card.pinned(64), card.allocate(64)
    cupy.calls.clear()
    card.copy(other, pinned.ctypes.data + 8, 56, Direction.TO_DEVICE)
    card.copy(pinned.ctypes.data, other, 64, Direction.FROM_DEVICE)
    card.copy(other, other + 32, 32, Direction.ON_DEVICE)
    assert cupy.given("memcpyAsync") == [
        (other, pinned.ctypes.data + 8, 56, 1, STREAM),
        (pinned.ctypes.data, other, 64, 2, STREAM),
        (other, other + 32, 32, 3, STREAM),
    ]
    assert "synchronize" not in cupy.names


def test_memory_is_cleared_on_the_stream(card, cupy):
    card.clear(0x1000, 64)
    assert cupy.given("memsetAsync") == [(0x1000, 0, 64, STREAM)]


@pytest.mark.parametrize("beyond", [False, True])
def test_a_copy_of_memory_that_is_not_pinned_is_waited_for(card, cupy, beyond):
    array = card.pinned(64) if beyond else np.zeros(64, np.uint8)
    cupy.calls.clear()
    card.copy(0x1000, array.ctypes.data + beyond, 64, Direction.TO_DEVICE)
    assert cupy.names == ["memcpyAsync", "synchronize"]


def test_memory_that_others_have_pinned_is_pinned_too(card, cupy):
    address = cupy.cuda.runtime.hostAlloc(64, 0)
    assert card.is_pinned(address, 64) and not card.is_pinned(address, 65)
    cupy.calls.clear()
    card.copy(0x1000, address, 64, Direction.TO_DEVICE)
    assert cupy.names == ["memcpyAsync"]


def test_a_captured_copy_must_be_of_pinned_memory(card, cupy):
    array, pinned = np.zeros(64, np.uint8), card.pinned(64)
    card.begin_capture()
    card.copy(0x1000, pinned.ctypes.data, 64, Direction.TO_DEVICE)
    with pytest.raises(RuntimeError, match="not pinned"):
        card.copy(0x1000, array.ctypes.data, 64, Direction.TO_DEVICE)
    card.abandon_capture()


def test_functions_are_compiled_in_one_go_and_loaded(card, cupy):
    kernels = card.load([FIRST, SECOND])
    assert cupy.names == ["compile", "module.load", "funcGetAttribute", "funcGetAttribute"]
    assert cupy.given("compile") == [("sm_90",)]
    kernels[0]([0x1000, 0x2000])
    kernels[1]((0x3000, 0x4000))
    kernels[0]((0x5000, 2**63))
    assert cupy.launched == [
        ((0x10200, 3, 2, 1, 64, 1, 1), [0x1000, 0x2000]),
        ((0x10200, 5, 2, 1, 64, 1, 1), [0x3000, 0x4000]),
        ((0x10200, 3, 2, 1, 64, 1, 1), [0x5000, 2**63]),
    ]


def test_long_texts_are_compiled_in_groups_side_by_side(card, cupy, monkeypatch):
    monkeypatch.setattr(in_groups, "TOGETHER", 1)
    kernels = card.load([FIRST, SECOND])
    assert cupy.given("compile") == [("sm_90",)] * 2 and cupy.names.count("module.load") == 2
    kernels[1]((0x3000, 0x4000))
    assert cupy.launched == [((0x10200, 5, 2, 1, 64, 1, 1), [0x3000, 0x4000])]


def test_no_functions_need_no_compiler(card, cupy):
    assert card.load([]) == []
    assert cupy.names == []


def test_an_image_for_this_card_fits_it(card, cupy):
    image = card.image([FIRST, SECOND])
    cupy.calls.clear()
    card.load([SECOND], [image])
    assert cupy.names == ["module.load", "funcGetAttribute"]


def test_an_image_that_fits_is_taken(card, cupy):
    other_card = f"cubin sm_75 {FIRST.name}:2".encode()
    other_functions = f"cubin sm_90 {SECOND.name}:2".encode()
    fitting = f"cubin sm_90 {SECOND.name}:2 {FIRST.name}:2".encode()
    assert len(card.load([FIRST], [other_card, other_functions, fitting])) == 1
    assert "compile" not in cupy.names and cupy.given("module.load")[-1] == (fitting,)


def test_where_no_image_fits_the_functions_are_compiled(card, cupy):
    card.load([FIRST], [f"cubin sm_75 {FIRST.name}:2".encode()])
    assert cupy.names == ["module.load", "compile", "module.load", "funcGetAttribute"]


def test_a_function_is_given_the_shared_memory_that_it_asks_for(card, cupy):
    greedy = function("SG_SHARED(float, much, 20000);\nmuch[threadIdx.x] = x[0];")
    assert greedy.shared == 80_000 and "SG_GIVEN(float, much, 20000, 0);" in greedy.text
    (kernel,) = card.load([greedy])
    kernel([0, 0])
    assert cupy.given("funcSetAttribute")[0][1:] == (8, 80_000)
    assert cupy.given("launchKernel")[-1][7] == 80_000


def test_a_damaged_image_is_an_error(card, cupy):
    cupy.fail("module.load", CUDADriverError(200, "CUDA_ERROR_INVALID_IMAGE: device kernel image is invalid"))
    with pytest.raises(OpError, match=r"to load kernels: CUDA failed .*INVALID_IMAGE"):
        card.load([FIRST], [b"cubin"])


def test_a_launch_tells_sizes_and_numbers_of_blocks_that_depend_on_them(card, cupy):
    with naming() as sizes:
        made = call(
            "open", [Parameter("y", float32, written=True)], f"y[{symbol('n')}u] = 1;", GRID, (64, 1, 1)
        )
    assert made.function.grid is None and [*sizes] == [*made.sizes] == [symbol("n")]
    assert "float* __restrict__ y, const int size0)" in made.function.text
    (kernel,) = card.load([made.function])
    for n in (7, 3000):
        there = made.at({"n": n})
        kernel([0x1000], there.sizes, there.blocks)
    assert [(geometry[1:4], values) for geometry, values in cupy.launched] == [
        ((1, 1, 1), [0x1000, 7]),
        ((12, 1, 1), [0x1000, 3000]),
    ]


def test_a_capture_is_made_a_graph_that_is_uploaded_and_launched(card, cupy):
    (kernel,) = card.load([FIRST])
    pinned = card.pinned(8)
    cupy.calls.clear()
    card.begin_capture()
    card.copy(0x1000, pinned.ctypes.data, 8, Direction.TO_DEVICE)
    kernel([0x1000, 0x2000])
    graph = card.end_capture()
    graph.replay()
    card.synchronize()
    assert cupy.names == [
        "begin_capture",
        "memcpyAsync",
        "launchKernel",
        "end_capture",
        "upload",
        "graphLaunch",
        "synchronize",
    ]
    assert cupy.given("begin_capture") == [(1,)], "other threads may go on"
    assert cupy.given("graphLaunch") == [(0xE4EC, STREAM)]
    assert graph.text() == "digraph with 1"


@pytest.fixture(params=[False, True], ids=["CUDA 12.2", "CUDA 12.3"])
def side_by_side(request, cupy, monkeypatch) -> CupyDriver:
    """A card whose driver lets edges be told."""
    monkeypatch.setattr(edges, "libcuda", lambda: FakeLibcuda(cupy, kinds=request.param))
    return CupyDriver()


def test_what_is_captured_waits_for_what_it_depends_on(side_by_side, cupy):
    card = side_by_side
    a, b, c, d = (card.allocate(64) for _ in range(4))
    assert card.overlaps
    card.begin_capture()
    overlap = Overlap(card)

    def copied(target: int, *sources: int, nodes: int = 1) -> None:
        with overlap.work([(source, source + 64) for source in sources], [(target, target + 64)]):
            for _ in range(nodes):
                card.copy(target, sources[0], 64, Direction.ON_DEVICE)

    copied(b, a, nodes=2)
    copied(c, a)
    copied(d, b, c)
    copied(a, d)
    with overlap.work([], [(b, b + 64)]):
        card.clear(b, 64)
    card.end_capture()
    assert [[node - NODE for node in each] for each in cupy.waits] == [[], [0], [], [1, 2], [3], [3]]


def test_what_cuda_refuses_of_edges_is_an_error_that_tells_the_switch(side_by_side):
    with pytest.raises(OpError, match="side by side: CUDA failed") as raised:
        side_by_side.wait_for([])
    assert "SG_OVERLAP=0" in raised.value.hint
    with pytest.raises(OpError, match="status 901"):
        side_by_side.waits()


@pytest.mark.parametrize("library", [None, object()], ids=["no driver", "an old driver"])
def test_with_an_old_driver_a_capture_is_a_chain(library, cupy, monkeypatch):
    monkeypatch.setattr(edges, "libcuda", lambda: library)
    assert not CupyDriver().overlaps


def test_garbage_is_not_collected_while_capturing(card):
    assert gc.isenabled()
    card.begin_capture()
    assert not gc.isenabled()
    card.end_capture()
    assert gc.isenabled()
    card.begin_capture()
    card.abandon_capture()
    assert gc.isenabled()


def test_who_switched_the_collector_off_finds_it_off(card):
    gc.disable()
    try:
        card.begin_capture()
        card.end_capture()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_capture_that_is_given_up_leaves_the_stream_as_it_was(card, cupy):
    card.begin_capture()
    card.abandon_capture()
    card.abandon_capture()
    assert cupy.names == ["begin_capture", "streamEndCapture", "graphDestroy"]
    card.synchronize()


def test_a_capture_that_failed_can_be_given_up(card, cupy):
    cupy.fail("streamEndCapture", CUDARuntimeError(901, "cudaErrorStreamCaptureInvalidated"))
    card.begin_capture()
    card.abandon_capture()
    card.begin_capture()
    card.end_capture()


@pytest.mark.parametrize(
    "act",
    [
        lambda card: card.allocate(8),
        lambda card: card.pinned(8),
        lambda card: card.synchronize(),
        lambda card: card.load([FIRST]),
        lambda card: card.multiplication(PRODUCT),
    ],
    ids=["allocate", "pin", "synchronize", "load", "multiplication"],
)
def test_what_would_end_a_capture_is_refused_before_cuda_sees_it(card, cupy, act):
    card.begin_capture()
    cupy.calls.clear()
    with pytest.raises(RuntimeError, match="a capture does not allow"):
        act(card)
    assert cupy.names == []
    card.end_capture()


PRODUCT = Product(float32, 4, 6, 5, 1, Matrix("a", 5), Matrix("b", 6), Matrix("out", 6))


def test_the_first_product_starts_the_libraries_on_our_stream(card, cupy):
    card.multiplication(PRODUCT)
    card.multiplication(PRODUCT)
    assert cupy.given("malloc") == [(64 << 20,)], "two workspaces"
    blas = cupy.libraries["cublas"]
    assert ("cublasSetStream_v2", (STREAM,)) in blas.calls
    assert blas.names.count("cublasCreate_v2") == 1


def test_a_product_is_computed(card, cupy):
    a, b = np.arange(20, dtype=np.float32), np.arange(30, dtype=np.float32)
    out = np.zeros(24, np.float32)
    card.multiplication(PRODUCT)(a.ctypes.data, b.ctypes.data, out.ctypes.data)
    np.testing.assert_array_equal(out.reshape(4, 6), a.reshape(4, 5) @ b.reshape(5, 6))
    assert cupy.libraries["cublasLt"].names[-1] == "cublasLtMatmul"


def test_the_precision_of_a_product_is_asked_for(cupy, card):
    kept = [card.multiplication(replace(PRODUCT, precision=precision)) for precision in Precision]
    computed = [d["compute"] for d in cupy.libraries["cublasLt"].descriptors.values() if "compute" in d]
    assert computed == [68, 77, 75] and len(kept) == 3


def test_an_event_is_recorded_and_waited_for(card, cupy):
    event = card.event()
    event.wait()
    assert cupy.names == ["record", "event.synchronize"]


def test_events_are_used_again_when_nobody_has_them_any_more(card, cupy):
    first, second = card.event(), card.event()
    assert first._event is not second._event
    made = {id(first._event), id(second._event)}
    del first, second
    gc.collect()
    again = [card.event(), card.event()]
    assert {id(event._event) for event in again} == made


def test_every_thread_uses_our_card(cupy):
    made = CupyDriver(1)
    cupy.calls.clear()
    thread = threading.Thread(target=lambda: made.copy(1, 2, 3, Direction.ON_DEVICE))
    thread.start()
    thread.join()
    assert cupy.calls[0] == ("setDevice", (1,))


def test_free_memory(card):
    assert card.free_memory() == FREE


def test_close_gives_everything_back(card, cupy):
    first, _ = card.allocate(8), card.multiplication(PRODUCT)
    cupy.calls.clear()
    card.begin_capture()
    card.close()
    assert cupy.names == ["begin_capture", "streamEndCapture", "graphDestroy", "synchronize", "free", "free"]
    assert cupy.given("free")[0] == (first,)
    assert cupy.libraries["cublas"].names[-1] == "cublasDestroy_v2"
    card.close()


def test_close_works_after_the_card_failed(card, cupy):
    card.allocate(8)
    cupy.fail("synchronize", CUDARuntimeError(700))
    card.close()


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (700, UnavailableError, "waiting for the GPU: a kernel reached outside of its memory"),
        (719, UnavailableError, "waiting for the GPU: a kernel failed"),
        (214, UnavailableError, "the memory of the GPU is damaged"),
        (901, OpError, r"waiting for the GPU: CUDA failed \(cudaErrorOfTheTest: as asked\)"),
    ],
)
def test_what_failed_before_is_told_when_it_is_waited_for(card, cupy, status, kind, text):
    cupy.fail("synchronize", CUDARuntimeError(status))
    with pytest.raises(kind, match=text):
        card.synchronize()


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (46, UnavailableError, "to use GPU 0: the GPU is busy"),
        (35, FailedPreconditionError, "to use GPU 0: the NVIDIA driver is older than the CUDA of CuPy"),
        (3, FailedPreconditionError, "forked"),
    ],
)
def test_a_card_that_cannot_be_used(cupy, status, kind, text):
    cupy.fail("setDevice", CUDARuntimeError(status))
    with pytest.raises(kind, match=text) as raised:
        CupyDriver()
    assert raised.value.hint


def test_interrupted_work_is_not_hidden(card, cupy):
    cupy.fail("synchronize", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        card.synchronize()


def test_cupy_takes_what_it_is_given():
    """The functions of an installed CuPy have as many parameters as those of the tests."""
    cupy = pytest.importorskip("cupy")
    for module, functions in SIGNATURES.items():
        for name, count in functions.items():
            line = getattr(getattr(cupy.cuda, module), name).__doc__.partition("\n")[0]
            parameters = re.search(r"\((.*?)\)", line)[1]
            assert len([p for p in parameters.split(",") if p]) == count, line
    assert cupy.cuda.runtime.streamCaptureModeThreadLocal == 1
    assert cupy.cuda.runtime.hostAllocDefault == 0
    assert [
        getattr(cupy.cuda.runtime, f"memcpy{kind}")
        for kind in ("HostToDevice", "DeviceToHost", "DeviceToDevice")
    ] == [1, 2, 3]
    assert cupy.cuda.driver.CU_FUNC_ATTRIBUTE_NUM_REGS == 4
    assert ctypes.sizeof(ctypes.c_void_p) == 8
