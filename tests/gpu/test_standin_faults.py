"""The stand-in catches what it is there for: each fault is put into a function or a program on purpose."""

import gc
from collections.abc import Callable

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.compiler.kernel.schedule_gpu.products.product import Matrix, Product
from staticgraph.runtime.gpu.cuda.driver import Direction
from staticgraph.runtime.gpu.simulator.build import BuildError, Unit
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import CaptureError, DeviceError
from tests.gpu.running import compiled, run, unset

X, Y = Parameter("x", float32), Parameter("y", float32, written=True)
ROWS, COLUMNS = 6, 300
Result = Callable[..., np.ndarray]
MEANS = """
SG_SHARED(float, partial, 4);
SG_SHARED(float, total, 1);
const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
for (int pass = 0; pass < 2; pass++) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < 300; i += 128) sum += x[blockIdx.x * 300 + i] * (pass ? i : 1.0f);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(SG_FULL, sum, d);
  if (lane == 0) partial[warp] = sum;
  __syncthreads(/* partial is written */);
  if (threadIdx.x == 0) total[0] = partial[0] + partial[1] + partial[2] + partial[3];
  __syncthreads(/* total is written */);
  y[blockIdx.x * 256 + pass * 128 + threadIdx.x] = total[0];
}
"""
TREE = """
SG_SHARED(float, part, 128);
part[threadIdx.x] = x[blockIdx.x * 300 + threadIdx.x];
for (int half = 64; half > 0; half /= 2) {
  __syncthreads();
  if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
}
if (threadIdx.x == 0) y[blockIdx.x] = part[0];
"""


def faulty(body: str, *replacements: tuple[str, str], meets: bool = True, block: int = 128) -> FunctionCall:
    for old, new in replacements:
        assert old in body
        body = body.replace(old, new)
    return call("faulty", [X, Y], body, (ROWS, 1, 1), (block, 1, 1), meets)


WITHOUT_BARRIER = """
SG_SHARED(float, part, 128);
part[threadIdx.x] = x[threadIdx.x];
y[blockIdx.x * 128 + threadIdx.x] = part[threadIdx.x ^ 1];
"""
CALLS = {
    "means": faulty(MEANS),
    "tree": faulty(TREE),
    "first barrier missing": faulty(MEANS, ("__syncthreads(/* partial is written */);", "")),
    "second barrier missing": faulty(MEANS, ("__syncthreads(/* total is written */);", "")),
    "barrier of a warp missing": faulty(WITHOUT_BARRIER),
    "barrier of a warp": faulty(WITHOUT_BARRIER, ("y[", "__syncwarp();\ny[")),
    "one step too many": faulty(TREE, ("threadIdx.x < half", "threadIdx.x <= half")),
    "divergent barrier": faulty(
        MEANS,
        (
            "__syncthreads(/* partial is written */);",
            "if (threadIdx.x < 100) __syncthreads();\n  else __syncthreads();",
        ),
    ),
    "divergent shuffle": faulty(
        MEANS, ("sum += __shfl_xor_sync", "if (threadIdx.x < 100) sum += __shfl_xor_sync")
    ),
    "mask without oneself": faulty(MEANS, ("SG_FULL", "0xfffffff7u")),
    "lane outside of a mask": faulty(MEANS, ("SG_FULL", "lane < 16 ? 0xffffu : 0xffff0000u")),
    "returned": faulty(MEANS, ("if (lane == 0)", "if (threadIdx.x > 120) return;\n  if (lane == 0)")),
    "mask beyond the block": faulty("y[0] = __shfl_xor_sync(SG_FULL, x[0], 1);", block=24),
    "not announced": faulty(TREE, ("part, 128", "part, 129"), meets=False),
    "end of shared": faulty(TREE, ("part, 128", "part, 127")),
    "much shared": faulty(TREE, ("part, 128", "part, 99999")),
    "store before": faulty("if (threadIdx.x == 0) y[-1] = x[0];", meets=False),
    "store after": faulty(f"if (threadIdx.x == 0) y[{ROWS}] = x[0];", meets=False),
    "load after": faulty("y[blockIdx.x] = x[blockIdx.x * 360];", meets=False),
    "load before": faulty("y[blockIdx.x] = x[int(blockIdx.x) * 300 - 1];", meets=False),
    "copy": faulty("y[blockIdx.x] = x[blockIdx.x * 300 + threadIdx.x % 2];", meets=False),
}


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)


@pytest.fixture(scope="module")
def unit(host: str) -> Unit:
    return compiled(CALLS.values())


@pytest.fixture
def result(unit: Unit, x: np.ndarray) -> Callable[..., np.ndarray]:
    """Return the result of a function for `x`."""

    def do(name: str, size: int = 256) -> np.ndarray:
        return run(CALLS[name], {"x": x, "y": unset((ROWS, size), np.float32)}, unit)["y"]

    return do


def test_without_a_fault_all_is_well(result: Result, x: np.ndarray):
    sums = np.stack([x.sum(1), (x * np.arange(COLUMNS)).sum(1)], 1)
    np.testing.assert_allclose(result("means"), np.repeat(sums, 128, 1), 1e-4, 1e-2)
    np.testing.assert_allclose(result("tree", 1)[:, 0], x[:, :128].sum(1), 1e-4, 1e-4)
    np.testing.assert_array_equal(result("barrier of a warp", 128)[0, ::2], x[0, 1:128:2])


RACES = ("first barrier missing", "second barrier missing", "barrier of a warp missing", "one step too many")


@pytest.mark.parametrize("name", RACES)
def test_threads_that_do_not_wait(result: Result, name: str):
    with pytest.raises(AssertionError, match="`y` depends on the order of threads"):
        result(name)


MESSAGES = {
    "divergent barrier": r"thread \(0, 0, 0\) waits at the barrier faulty_\w+:10, .*\(100, 0, 0\) waits at",
    "divergent shuffle": r"deadlock: thread \(96, 0, 0\) waits .* at faulty_\w+:8, .*\(127, 0, 0\) waits at",
    "mask without oneself": r"thread \(3, 0, 0\) waits in its warp .*mask 0xfffffff7 leaves itself out",
    "lane outside of a mask": r"thread \(0, 0, 0\) waits .*, and reads lane 16, which its mask leaves out",
    "returned": r"thread \(96, 0, 0\) waits in its warp .*, but thread \(121, 0, 0\) has returned",
    "mask beyond the block": r"mask 0xffffffff names lanes beyond the block's 24 threads",
    "not announced": r"threads meet at faulty_\w+:\d+, in a function that says that they do not",
    "end of shared": r"a store past the end of the shared array `part`",
    "much shared": r"399996 bytes of shared memory at `part`: .* at most 232448",
}


@pytest.mark.parametrize("name", MESSAGES)
def test_what_no_card_would_forgive(result: Result, name: str):
    for _ in range(2):
        with pytest.raises(RuntimeError, match=f"{CALLS[name].function.name}: .*{MESSAGES[name]}"):
            result(name)
    result("tree")  # nothing is left of it


def test_more_local_memory_than_there_is(host: str):
    wasteful = faulty(TREE, ("SG_SHARED", "volatile char large[40000]; large[0] = 1;\nSG_SHARED"))
    with pytest.raises(BuildError, match=r"faulty_\w+:\d+.*frame size of 40\d\d\d bytes"):
        compiled([wasteful])


@pytest.mark.parametrize("name", ["store before", "store after"])
def test_a_store_outside_of_memory(driver: Simulator, result: Result, x: np.ndarray, name: str):
    with pytest.raises(AssertionError, match=r"faulty_\w+ stores outside of `y`: up to 4 bytes"):
        result(name, 1)
    [kernel], there, y = driver.load([CALLS[name].function]), upload(driver, x), driver.allocate(4 * ROWS)
    with pytest.raises(DeviceError, match=r"faulty_\w+ stores up to 4 bytes .* a block of 24 bytes"):
        kernel([there, y])
        driver.synchronize()
    driver.synchronize()


def test_a_load_from_outside_of_memory(result: Result):
    assert np.isnan(result("load after", 1)[:, 0]).tolist() == [False] * 5 + [True]
    assert np.isnan(result("load before", 1)[:, 0]).tolist() == [True] + [False] * 5


def test_a_load_of_what_nobody_has_written(driver: Simulator, x: np.ndarray):
    [kernel] = driver.load([CALLS["copy"].function])
    there, y = driver.allocate(x.nbytes), driver.allocate(4 * ROWS)
    driver.copy(there, x.ctypes.data, x.nbytes // 2, Direction.TO_DEVICE)
    kernel([there, y])
    made = np.zeros(ROWS, np.float32)
    driver.copy(made.ctypes.data, y, made.nbytes, Direction.FROM_DEVICE)
    assert np.isnan(made).tolist() == [False] * 3 + [True] * 3


def upload(driver: Simulator, array: np.ndarray) -> int:
    address = driver.allocate(array.nbytes)
    driver.copy(address, array.ctypes.data, array.nbytes, Direction.TO_DEVICE)
    return address


def test_arguments_that_are_no_memory_of_the_device(driver: Simulator, x: np.ndarray):
    [kernel] = driver.load([CALLS["tree"].function])
    there, y = upload(driver, x), driver.allocate(1024)
    for given, message in (
        ([there, x.ctypes.data], r"argument 1 of faulty_\w+, 0x\w+, is no memory of the device"),
        ([there, y + 4], r"argument 1 of faulty_\w+, 0x\w+, is no multiple of 64"),
    ):
        with pytest.raises(DeviceError, match=message):
            kernel(given)
            driver.synchronize()
    with pytest.raises(LookupError, match=r"4 bytes at 0x.* are not within memory of the device"):
        driver.copy(y + 1022, there, 4, Direction.ON_DEVICE)


def test_memory_that_is_given_back_before_the_work_is_done(one_driver: Simulator, x: np.ndarray):
    driver = one_driver
    [kernel] = driver.load([CALLS["tree"].function])
    there, y = upload(driver, x), driver.allocate(1024)
    kernel([there, y])
    driver.free(there)
    with pytest.raises(DeviceError, match=r"argument 0 of faulty_.* is no memory of the device"):
        driver.synchronize()
    slot = driver.pinned(4)
    driver.copy(slot.ctypes.data, y, 4, Direction.FROM_DEVICE)
    del slot
    gc.collect()
    with pytest.raises(DeviceError, match="the pinned memory was given back before it was done"):
        driver.synchronize()


PRODUCT = Product(float32, 2, 2, 2, 1, Matrix("a", 2), Matrix("b", 2), Matrix("out", 2))
IN_A_CAPTURE = {
    "an allocation": lambda driver, kernel, there: driver.allocate(4),
    "giving memory back": lambda driver, kernel, there: driver.free(there),
    "an allocation of pinned memory": lambda driver, kernel, there: driver.pinned(4),
    "waiting for the device": lambda driver, kernel, there: driver.synchronize(),
    "an event": lambda driver, kernel, there: driver.event(),
    "loading functions": lambda driver, kernel, there: driver.load([CALLS["tree"].function]),
    "the first call of faulty_": lambda driver, kernel, there: kernel([there, there]),
    "choosing the algorithm of a product": lambda driver, kernel, there: driver.multiplication(PRODUCT),
    "another capture": lambda driver, kernel, there: driver.begin_capture(),
    "a copy, host to device, of memory that is not pinned": lambda driver, kernel, there: driver.copy(
        there, np.ones(4).ctypes.data, 32, Direction.TO_DEVICE
    ),
    "a copy, device to host, of memory that is not pinned": lambda driver, kernel, there: driver.copy(
        np.ones(4).ctypes.data, there, 32, Direction.FROM_DEVICE
    ),
}


@pytest.mark.parametrize("what", IN_A_CAPTURE)
def test_what_spoils_a_capture(one_driver: Simulator, what: str):
    [kernel], there = one_driver.load([CALLS["tree"].function]), one_driver.allocate(8192)
    one_driver.begin_capture()
    with pytest.raises(CaptureError, match=f"{what}.* cannot be captured: "):
        IN_A_CAPTURE[what](one_driver, kernel, there)
    with pytest.raises(CaptureError, match=f"the capture was spoiled before: {what}"):
        one_driver.end_capture()
    one_driver.abandon_capture()
    one_driver.begin_capture()
    one_driver.end_capture().replay()
    with pytest.raises(CaptureError, match="nothing is being captured"):
        one_driver.end_capture()


def test_a_wait_for_an_event_and_a_replay_spoil_a_capture(one_driver: Simulator):
    one_driver.begin_capture()
    graph, event = one_driver.end_capture(), one_driver.event()
    for what, use in (("a wait for an event", event.wait), ("a replay of another graph", graph.replay)):
        one_driver.begin_capture()
        with pytest.raises(CaptureError, match=what):
            use()
        one_driver.abandon_capture()
