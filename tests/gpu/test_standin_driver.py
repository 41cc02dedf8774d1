"""The driver without a card: memory, work that waits, captured graphs, products, faults on demand."""

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import Parameter, call
from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float32, float64, int32
from staticgraph.compiler.graph.errors import ResourceExhaustedError
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Product
from staticgraph.runtime.gpu.cuda.driver import Direction, Driver
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import DeviceError

X, Y = Parameter("x", float32), Parameter("y", float32, written=True)
N = 64
ADD = call("add", [X, Y], "y[threadIdx.x] += x[threadIdx.x];", (1, 1, 1), (N, 1, 1)).function


def upload(driver: Driver, array: np.ndarray) -> int:
    """The address of a copy of it on the device."""
    address = driver.allocate(max(array.nbytes, 1))
    driver.copy(address, array.ctypes.data, array.nbytes, Direction.TO_DEVICE)
    return address


def download(driver: Driver, address: int, like: np.ndarray) -> np.ndarray:
    array = np.empty_like(like)
    driver.copy(array.ctypes.data, address, array.nbytes, Direction.FROM_DEVICE)
    return array


@pytest.fixture
def ones() -> np.ndarray:
    return np.ones(N, np.float32)


def test_a_stand_in_is_a_driver(one_driver: Simulator):
    as_seen_by_the_runtime: Driver = one_driver
    assert as_seen_by_the_runtime.card.memory == as_seen_by_the_runtime.free_memory() == 1 << 30


def test_memory_holds_nan_at_first_and_is_counted(one_driver: Simulator, ones: np.ndarray):
    address = one_driver.allocate(1000)
    assert address % 256 == 0
    assert one_driver.free_memory() == (1 << 30) - 1024
    assert np.isnan(download(one_driver, address, ones)).all()
    one_driver.free(address)
    assert one_driver.free_memory() == 1 << 30
    with pytest.raises(ValueError, match="no block of memory starts at 0x"):
        one_driver.free(address)


def test_beyond_the_limit_there_is_no_memory(host: str):
    driver = Simulator(limit=4096)
    kept = driver.allocate(4000)
    with pytest.raises(ResourceExhaustedError, match="has 0 bytes left, and 1 were asked for"):
        driver.allocate(1)
    driver.free(kept)
    driver.allocate(4096)


def test_functions_run_on_memory_of_the_device(driver: Simulator, rng: np.random.Generator):
    x, y = rng.standard_normal((2, N)).astype(np.float32)
    [add] = driver.load([ADD])
    there = [upload(driver, x), upload(driver, y)]
    add(there)
    driver.synchronize()
    np.testing.assert_array_equal(download(driver, there[1], y), x + y)
    assert (driver.counts.launches, driver.counts.copies, driver.counts.allocations) == (1, 3, 2)


def test_work_waits_until_something_waits_for_it(one_driver: Simulator, ones: np.ndarray):
    [add] = one_driver.load([ADD])
    x, y = upload(one_driver, ones), upload(one_driver, ones)
    result = one_driver.pinned(ones.nbytes)
    seen = result.view(np.float32)
    add([x, y])
    one_driver.copy(result.ctypes.data, y, ones.nbytes, Direction.FROM_DEVICE)
    event = one_driver.event()
    add([x, y])
    assert np.isnan(seen).all()
    event.wait()
    assert (seen == 2).all() and one_driver.counts.launches == 1
    one_driver.synchronize()
    assert one_driver.counts.launches == 2
    event.wait()  # done long ago


def test_a_slot_that_is_filled_too_early_shows(one_driver: Simulator, ones: np.ndarray):
    slot = one_driver.pinned(ones.nbytes)
    first, second = one_driver.allocate(ones.nbytes), one_driver.allocate(ones.nbytes)
    for value, address in ((1, first), (2, second)):
        slot.view(np.float32)[:] = value
        one_driver.copy(address, slot.ctypes.data, slot.nbytes, Direction.TO_DEVICE)
    assert (download(one_driver, first, ones) == 2).all()


def test_a_slot_that_is_filled_too_late_shows(host: str, ones: np.ndarray):
    driver = Simulator(deferred=False)
    slot, address = driver.pinned(ones.nbytes), driver.allocate(ones.nbytes)
    driver.copy(address, slot.ctypes.data, slot.nbytes, Direction.TO_DEVICE)
    slot.view(np.float32)[:] = 1
    assert np.isnan(download(driver, address, ones)).all()


def test_a_captured_graph_does_what_was_asked_for_each_time(driver: Simulator, ones: np.ndarray):
    [add] = driver.load([ADD])
    fed, result = driver.pinned(ones.nbytes), driver.pinned(ones.nbytes)
    x, y = driver.allocate(ones.nbytes), upload(driver, ones)
    add([y, x])
    driver.synchronize()
    driver.begin_capture()
    driver.copy(x, fed.ctypes.data, fed.nbytes, Direction.TO_DEVICE)
    add([x, y])
    add([x, y])
    driver.copy(result.ctypes.data, y, fed.nbytes, Direction.FROM_DEVICE)
    graph = driver.end_capture()
    assert driver.counts.launches == 1  # nothing was done yet
    expected = ones.copy()
    for step in range(20):
        fed.view(np.float32)[:] = step
        graph.replay()
        driver.synchronize()
        expected += 2 * step
        np.testing.assert_array_equal(result.view(np.float32), expected)
    assert (driver.counts.captures, driver.counts.replays, driver.counts.launches) == (1, 20, 41)


def test_memory_can_be_cleared(driver: Simulator, ones: np.ndarray):
    address = upload(driver, ones)
    driver.clear(address + 4, 8)
    driver.begin_capture()
    driver.clear(address + 16, 4)
    graph = driver.end_capture()
    assert download(driver, address, ones)[:6].tolist() == [1, 0, 0, 1, 1, 1]
    graph.replay()
    assert download(driver, address, ones)[:6].tolist() == [1, 0, 0, 1, 0, 1]
    with pytest.raises(LookupError, match=r"8 bytes at 0x.* are not within memory of the device"):
        driver.clear(address + ones.nbytes - 4, 8)


def test_an_abandoned_capture_leaves_nothing(one_driver: Simulator, ones: np.ndarray):
    [add] = one_driver.load([ADD])
    x, y = upload(one_driver, ones), upload(one_driver, ones)
    add([x, y])
    one_driver.abandon_capture()  # nothing was being captured
    one_driver.begin_capture()
    add([x, y])
    one_driver.abandon_capture()
    assert (download(one_driver, y, ones) == 2).all()


PRODUCTS = {
    "plain": Product(float32, 5, 7, 3, 1, Matrix("a", 3), Matrix("b", 7), Matrix("out", 7)),
    "transposed": Product(float32, 5, 7, 3, 1, Matrix("a", 5, True), Matrix("b", 3, True), Matrix("out", 7)),
    "double": Product(float64, 4, 4, 9, 1, Matrix("a", 9), Matrix("b", 9, True), Matrix("out", 4)),
    "half": Product(float16, 8, 6, 40, 1, Matrix("a", 40), Matrix("b", 6), Matrix("out", 6)),
    "bfloat": Product(bfloat16, 8, 6, 40, 1, Matrix("a", 8, True), Matrix("b", 6), Matrix("out", 6), True),
    "within larger ones": Product(
        float32,
        3,
        4,
        5,
        1,
        Matrix("a", 11, False, 2),
        Matrix("b", 9, True, 1),
        Matrix("out", 6, False, 3),
        True,
    ),
    "batch": Product(
        float32, 3, 4, 5, 6, Matrix("a", 5, False, 0, 20), Matrix("b", 4), Matrix("out", 4, False, 0, 13)
    ),
    "batch of transposed": Product(
        float32,
        3,
        4,
        5,
        2,
        Matrix("a", 3, True, 0, 15),
        Matrix("b", 5, True, 7, 20),
        Matrix("out", 4, False, 1, 12),
        True,
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_are_those_of_mathematics(driver: Simulator, rng: np.random.Generator, name: str):
    p = PRODUCTS[name]
    a, b, out = (p.dtype.round(rng.standard_normal(400).astype(np.float32)) for _ in range(3))
    expected = p.dtype.round(out).astype(np.float64)

    def place(m: Matrix, batch: int, i: int, j: int) -> int:
        return m.offset + batch * m.batch_stride + (j * m.stride + i if m.transposed else i * m.stride + j)

    for t, i, j in np.ndindex(p.batch, p.m, p.n):
        terms = (float(a[place(p.a, t, i, k)]) * float(b[place(p.b, t, k, j)]) for k in range(p.k))
        at = place(p.out, t, i, j)
        expected[at] = sum(terms) + (float(out[at]) if p.accumulate else 0.0)
    multiply = driver.multiplication(p)
    buffers = [np.frombuffer(p.dtype.to_bytes(v), np.uint8) for v in (a, b, out)]
    addresses = [upload(driver, v) for v in buffers]
    multiply(*addresses)
    driver.synchronize()
    result = p.dtype.from_bytes(download(driver, addresses[2], buffers[2]), out.shape)
    np.testing.assert_allclose(result, expected, *tolerance(p.dtype))
    untouched = expected == out.astype(np.float64)
    np.testing.assert_array_equal(result[untouched], out[untouched])
    assert driver.counts.products == 1


def tolerance(dtype: DType) -> tuple[float, float]:
    """Relative and absolute."""
    return {float16: (1e-3, 1e-3), bfloat16: (1e-2, 1e-2), float64: (1e-13, 1e-13)}.get(dtype, (1e-5, 1e-5))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"dtype": int32}, "a product of int32"),
        ({"k": 0}, "an empty product"),
        ({"a": Matrix("a", 2)}, "rows of `a` overlap"),
        ({"out": Matrix("out", 5, True)}, "the result of a product is transposed"),
        ({"batch": 2}, "results of the batch overlap"),
        ({"b": Matrix("b", 7, offset=-1)}, "`b` begins before its buffer"),
    ],
)
def test_products_that_no_library_does_are_refused(one_driver: Simulator, change: dict, what: str):
    fields = {name: getattr(PRODUCTS["plain"], name) for name in Product.__dataclass_fields__}
    with pytest.raises(ValueError, match=what):
        one_driver.multiplication(Product(**fields | change))


def test_an_image_spares_the_compiler(host: str):
    other = call("other", [Y], "y[0] = 1.0f;", (1, 1, 1), (1, 1, 1)).function
    image = Simulator().image([ADD, other])
    for functions, images, compilations in (
        ([ADD], [image], 0),
        ([other, ADD], [b"of another card", image], 0),
        ([ADD], [], 1),
        ([ADD], [Simulator().image([other])], 1),
        ([], [], 0),
    ):
        driver = Simulator()
        assert len(driver.load(functions, images)) == len(functions)
        assert driver.counts.compilations == compilations


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("launch", DeviceError),
        ("copy", DeviceError),
        ("replay", DeviceError),
        ("product", DeviceError),
        ("allocation", ResourceExhaustedError),
    ],
)
def test_faults_come_when_they_are_asked_for(one_driver: Simulator, ones: np.ndarray, kind: str, error: type):
    driver = one_driver
    [add], times = driver.load([ADD]), driver.multiplication(PRODUCTS["plain"])
    a, b, out = (upload(driver, np.ones(40, np.float32)) for _ in range(3))
    x, y = upload(driver, ones), upload(driver, ones)
    driver.begin_capture()
    graph = driver.end_capture()

    def do_all() -> None:
        add([x, y])
        times(a, b, out)
        graph.replay()
        driver.copy(x, driver.allocate(ones.nbytes), ones.nbytes, Direction.ON_DEVICE)
        driver.synchronize()

    driver.fail(kind, after=1)
    do_all()
    with pytest.raises(error, match="a fault that was asked for"):
        do_all()
    driver.synchronize()  # nothing is left of what failed
    do_all()
    driver.fail(kind, error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        do_all()
    with pytest.raises(ValueError, match="'lightning' is none of allocation, copy"):
        driver.fail("lightning")


def test_a_closed_driver_does_nothing_more(one_driver: Simulator, ones: np.ndarray):
    address = upload(one_driver, ones)
    one_driver.close()
    one_driver.close()
    for use in (
        lambda: one_driver.allocate(1),
        lambda: one_driver.free(address),
        lambda: one_driver.pinned(1),
        lambda: download(one_driver, address, ones),
        one_driver.synchronize,
        one_driver.event,
        one_driver.begin_capture,
    ):
        with pytest.raises(DeviceError, match="the driver is closed"):
            use()
