"""The simulator and CUDA's dialect: threads that meet, shared memory, conversions, schedules."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from staticgraph.compiler.codegen.cuda.function import C_TYPES, CudaFunction, Parameter, call
from staticgraph.compiler.graph.dtypes import float32, float64, int32, int64, uint32, uint64
from staticgraph.runtime.gpu.simulator import build
from staticgraph.runtime.gpu.simulator.build import BuildError, Unit

EVERY_SCHEDULE = (0, 1, 2, 3, 4, 5, 6, 7)
Run = Callable[..., np.ndarray]


def numbers(kind: str, body: str, grid: tuple = (1, 1, 1), block: tuple = (32, 1, 1), plain: bool = False):
    """A function that writes one int32 for each of its threads, at `at`."""
    y = Parameter("y", int32, written=True)
    threads = "((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x)"
    block_number = "((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x)"
    at = f"const unsigned t = {threads}, at = {block_number} * (blockDim.x * blockDim.y * blockDim.z) + t;\n"
    return call(kind, [y], at + body, grid, block, not plain).function


LANES = {
    "xor": ("__shfl_xor_sync(SG_FULL, int(t), 5)", lambda t: t ^ 5),
    "xor_of_8": ("__shfl_xor_sync(SG_FULL, int(t), 7, 8)", lambda t: t ^ 7),
    "down": ("__shfl_down_sync(SG_FULL, int(t), 3)", lambda t: np.where(t + 3 < 32, t + 3, t)),
    "down_of_16": ("__shfl_down_sync(SG_FULL, int(t), 4, 16)", lambda t: np.where(t % 16 < 12, t + 4, t)),
    "up": ("__shfl_up_sync(SG_FULL, int(t), 2)", lambda t: np.where(t >= 2, t - 2, t)),
    "up_of_4": ("__shfl_up_sync(SG_FULL, int(t), 1, 4)", lambda t: np.where(t % 4 >= 1, t - 1, t)),
    "from": ("__shfl_sync(SG_FULL, int(t), 31 - int(t))", lambda t: 31 - t),
    "first_of_8": ("__shfl_sync(SG_FULL, int(t), 0, 8)", lambda t: t // 8 * 8),
    "ballot": ("int(__ballot_sync(SG_FULL, t % 3 == 0) & 0x7fffffffu)", lambda t: t * 0 + 0x49249249),
    "any": ("__any_sync(SG_FULL, t == 7)", lambda t: t * 0 + 1),
    "all": ("__all_sync(SG_FULL, t != 7)", lambda t: t * 0),
}
FUNCTIONS = {name: numbers(name, f"y[at] = {text};") for name, (text, _) in LANES.items()} | {
    "places": numbers("places", "y[at] = int(at);", (3, 2, 4), (4, 3, 2), plain=True),
    "places_that_meet": numbers("places2", "__syncthreads(); y[at] = int(at);", (3, 2, 4), (4, 3, 2)),
    "votes": numbers("votes", "y[at] = __syncthreads_count(t % 7 == 0);", block=(100, 1, 1)),
    "any_of_block": numbers(
        "any_of_block",
        """
y[at] = __syncthreads_or(t == 77) * 10 + __syncthreads_and(t != 77);
""",
        block=(96, 1, 1),
    ),
    "returns_early": numbers(
        "returns_early",
        """
SG_SHARED(int, all, 96);
y[at] = -1;
if (t >= 80) return;
all[t] = int(t);
__syncthreads();
y[at] = all[79 - t];
""",
        block=(96, 1, 1),
    ),
    "halves": numbers(
        "halves",
        """
int v = int(t);
if (t < 16) {
  for (int i = 0; i < 3; i++) v += __shfl_xor_sync(0xffffu, v, 1);
} else {
  v += __shfl_xor_sync(0xffff0000u, v, 1);
}
__syncwarp();
y[at] = v + __shfl_xor_sync(SG_FULL, v, 16);
""",
    ),
    "neighbours": numbers(
        "neighbours",
        """
int v = int(t);
if (t < 2) v += 100 * __shfl_sync(0x3u, v, 1 - int(t));
if (t == 1 || t == 2) v += 10000 * __shfl_sync(0x6u, v, 3 - int(t));
if (t == 1 || t == 3) v += 1000000 * (__shfl_sync(0xau, v, 4 - int(t)) % 10);
y[at] = v;
""",
    ),
    "shared_at_first": numbers(
        "shared_at_first",
        """
SG_SHARED(float, part, 64);
SG_SHARED(int, other, 3);
y[at] = part[t] != part[t] && other[t % 3] == -1;
__syncthreads();
part[t] = 1.0f;
other[t % 3] = 5;
""",
        (3, 1, 1),
        (64, 1, 1),
    ),
    "copies": numbers(
        "copies",
        """
SG_SHARED(int, part, 96);
for (int group = 0; group < 3; group++) {
  copy_later(&part[group * 32 + t], &y[32 + t], group != 1);
  close_copies();
}
await_copies<1>();
y[at] = part[t] * 100 + part[32 + t] * 10 + (part[64 + t] == -1);
await_copies<0>();
""",
    ),
    "shifted": numbers(
        "shifted",
        """
SG_SHARED(int, part, 96);
typedef Vector<int, 2> Pair;
copy_later(reinterpret_cast<Pair*>(part + 2 * t), reinterpret_cast<Pair*>(y + 2 * t + 1), true);
await_copies<0>();
""",
    ),
    "order": numbers("order", "y[at] = atomicAdd(&y[blockDim.x], 1); __syncthreads();", block=(128, 1, 1)),
    "turns": numbers(
        "turns",
        """
y[at] = atomicAdd(&y[blockDim.x], 1);
for (int i = 0; i < 3; i++) __syncwarp();
y[at] = atomicAdd(&y[blockDim.x], 1);
__syncthreads();
""",
        block=(64, 1, 1),
    ),
    "tree": numbers(
        "tree",
        """
SG_SHARED(int, part, 256);
part[t] = int(t) + 1;
for (unsigned half = 128; half > 0; half /= 2) {
  __syncthreads();
  if (t < half) part[t] += part[t + half];
}
__syncthreads();
y[at] = part[0];
""",
        (2, 1, 1),
        (256, 1, 1),
    ),
}


@pytest.fixture(scope="module")
def unit(host: str) -> Unit:
    return Unit([*FUNCTIONS.values(), *CONVERSIONS.values()])


@pytest.fixture(params=EVERY_SCHEDULE, ids=lambda schedule: f"schedule{schedule}")
def run(request: pytest.FixtureRequest, unit: Unit) -> Run:
    """Return what a function writes, one number per thread, or more if it says so."""

    def do(name: str, more: int = 0) -> np.ndarray:
        function = FUNCTIONS[name]
        y = np.zeros(int(np.prod(function.grid) * np.prod(function.block)) + more, np.int32)
        unit.run(function.name, [y.ctypes.data], request.param)
        return y

    return do


@pytest.mark.parametrize("name", LANES)
def test_lanes_of_a_warp_exchange(run: Run, name: str):
    np.testing.assert_array_equal(run(name), LANES[name][1](np.arange(32)))


@pytest.mark.parametrize("name", ["places", "places_that_meet"])
def test_each_thread_has_a_place_of_its_own(run: Run, name: str):
    np.testing.assert_array_equal(run(name), np.arange(3 * 2 * 4 * 4 * 3 * 2))


def test_votes_are_counted_at_barriers(run: Run):
    np.testing.assert_array_equal(run("votes"), np.full(100, 15))
    np.testing.assert_array_equal(run("any_of_block"), np.full(96, 10))


def test_threads_that_have_returned_are_not_waited_for(run: Run):
    np.testing.assert_array_equal(run("returns_early"), [*range(79, -1, -1), *[-1] * 16])


def test_parts_of_a_warp_meet_without_the_others(run: Run):
    low = np.arange(16) // 2 * 2 * 2 + 1  # the sum of two neighbours, doubled twice more
    high = np.arange(16, 32) // 2 * 2 * 2 + 1
    np.testing.assert_array_equal(run("halves"), np.tile(low * 4 + high, 2))
    assert run("neighbours")[:4].tolist() == [100, 3_020_001, 10_002, 1_000_003]


def test_shared_memory_holds_nothing_at_the_start_of_a_block(run: Run):
    assert run("shared_at_first").all()


def test_copies_arrive_when_they_are_awaited_or_at_once(unit: Unit):
    for schedule in EVERY_SCHEDULE:
        y = np.repeat(np.array([0, 7], np.int32), 32)
        unit.run(FUNCTIONS["copies"].name, [y.ctypes.data], schedule)
        assert (y[:32] == 700 + (schedule % 2 == 0)).all()


def test_copies_begin_at_multiples_of_their_size(unit: Unit):
    y = np.zeros(96, np.int32)
    with pytest.raises(RuntimeError, match="a copy of 8 bytes that does not begin at a multiple"):
        unit.run(FUNCTIONS["shifted"].name, [y.ctypes.data])


def test_a_sum_over_a_tree(run: Run):
    assert (run("tree") == 256 * 257 // 2).all()


def test_schedules_are_orders_of_threads(unit: Unit):
    def order(name: str, schedule: int) -> list[int]:
        function = FUNCTIONS[name]
        y = np.zeros(function.block[0] + 1, np.int32)
        unit.run(function.name, [y.ctypes.data], schedule)
        return y[:-1].tolist()

    assert order("order", 0) == order("order", 2) == list(range(128))
    assert order("order", 1) == order("order", 3) == list(range(127, -1, -1))
    shuffled, again = ({tuple(order("order", schedule)) for schedule in range(4, 12)} for _ in range(2))
    assert len(shuffled) == 8  # each by dice of its own
    assert shuffled == again
    assert order("turns", 0) == [*range(64, 128)]  # one step of each warp, then the next of each
    assert order("turns", 2) == [*range(32, 64), *range(96, 128)]  # each warp as far as it goes


EXTREMES = np.array([0, 0.5, 1.5, 2.5, -0.5, -2.5, 3e9, -3e9, 1e19, -1e19, 2e19, np.inf, -np.inf, np.nan, 7])
WHOLE = {"_rz": np.trunc, "_rn": np.rint, "_rd": np.floor, "_ru": np.ceil}
TARGETS = {"int": int32, "uint": uint32, "ll": int64, "ull": uint64}
CONVERSIONS: dict[tuple[str, str, str], CudaFunction] = {
    (source.name, target, rounding): call(
        f"{source.name}_to_{target}{rounding}",
        [Parameter("x", source), Parameter("y", dtype, written=True)],
        f"y[threadIdx.x] = __{C_TYPES[source.name]}2{target}{rounding}(x[threadIdx.x]);",
        (1, 1, 1),
        (EXTREMES.size, 1, 1),
    ).function
    for source in (float32, float64)
    for target, dtype in TARGETS.items()
    for rounding in WHOLE
}


@pytest.mark.parametrize(("source", "target", "rounding"), CONVERSIONS)
def test_conversions_to_integers_saturate(unit: Unit, source: str, target: str, rounding: str):
    x = EXTREMES.astype(source)
    y = np.zeros(x.size, TARGETS[target].numpy)
    unit.run(CONVERSIONS[source, target, rounding].name, [x.ctypes.data, y.ctypes.data])
    limits, wide = np.iinfo(y.dtype), y.itemsize == 8 or source == "float64"
    of_nan = (1 << (8 * y.itemsize - 1)) - (0 if limits.min == 0 else 1 << (8 * y.itemsize))
    expected = [
        (of_nan if wide else 0)
        if np.isnan(v)
        else int(min(max(v, float(limits.min)), 1e30))
        if v < limits.max
        else limits.max
        for v in WHOLE[rounding](x).astype(np.float64)
    ]
    assert y.tolist() == expected


@pytest.mark.takes_long
def test_the_fibers_of_any_system_will_do(host: str):
    portable = Unit(list(FUNCTIONS.values()), ["-DSIMT_UCONTEXT"])
    for name in ("tree", "halves", "returns_early"):
        function = FUNCTIONS[name]
        size = function.grid[0] * function.block[0]
        y, z = np.zeros(size, np.int32), np.zeros(size, np.int32)
        portable.run(function.name, [y.ctypes.data], 6)
        Unit(list(FUNCTIONS.values())).run(function.name, [z.ctypes.data], 6)
        np.testing.assert_array_equal(y, z)


def test_what_was_compiled_is_kept_on_disk(host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SG_CACHE_DIR", str(tmp_path))
    real, compiled = build._compiled, []
    monkeypatch.setattr(build, "_compiled", lambda *given: compiled.append(1) or real(*given))
    function = numbers("kept", "y[at] = 1;", plain=True)

    def works() -> bool:
        y = np.zeros(32, np.int32)
        Unit([function]).run(function.name, [y.ctypes.data])
        return bool(y.all())

    assert works() and works() and len(compiled) == 1
    [entry] = tmp_path.glob("*.entry")
    entry.write_bytes(entry.read_bytes()[:-100])
    assert works() and len(compiled) == 2  # a damaged entry is a miss
    Unit([function, numbers("another", "y[at] = 2;", plain=True)])
    assert len(compiled) == 3
    monkeypatch.setenv("SG_CACHE_DIR", "")
    assert works() and len(compiled) == 4


def test_an_error_of_the_compiler_names_function_and_line(host: str):
    wrong = numbers("wrong", "y[at] = 1;\ny[at] = undeclared;", plain=True)
    with pytest.raises(BuildError, match=f"{wrong.name}:4:.*undeclared"):
        Unit([wrong])


def test_without_a_compiler_the_message_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    build._find_compiler.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"no C\+\+ compiler found on PATH: looked for g\+\+, clang"):
        Unit([numbers("never", "y[at] = 1;")])
    build._find_compiler.cache_clear()


def test_two_functions_of_one_name_are_refused(host: str):
    one = FUNCTIONS["xor"]
    with pytest.raises(ValueError, match=f"two functions have the name {one.name}"):
        Unit([one, one, replace(one, grid=(2, 1, 1))])


def test_the_number_of_arguments_is_checked(unit: Unit):
    with pytest.raises(TypeError, match=r"xor_\w+ takes 1 arguments, and got 2"):
        unit.run(FUNCTIONS["xor"].name, [0, 0])


WRONG_GRIDS = (((1, 70000, 1), (32, 1, 1)), ((0, 1, 1), (32, 1, 1)))
WRONG_BLOCKS = (((1, 1, 1), (1025, 1, 1)), ((1, 1, 1), (1, 1, 65)), ((1, 1, 1), (0, 1, 1)))


@pytest.mark.parametrize(("grid", "block"), WRONG_GRIDS + WRONG_BLOCKS)
def test_shapes_that_no_card_runs_are_refused(unit: Unit, grid: tuple, block: tuple):
    with pytest.raises(RuntimeError, match=r"xor_\w+: a (block|grid) of \("):
        unit.run(FUNCTIONS["xor"].name, [0], grid=grid, block=block)
