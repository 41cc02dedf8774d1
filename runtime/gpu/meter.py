"""Meter of a GPU: the times of its programs, and its peak rates, which are the roof of its kernels.

Rates are measured with multiply-adds that stay in registers, and with copies inside its cache or its memory.
Each is the best of some short measurements, between marks of a captured graph. Products on tensor cores may
exceed these rates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from staticgraph.compiler.codegen.cuda.function import FunctionCall, Parameter, call
from staticgraph.compiler.graph.dtypes import DType, float32, float64, int32
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.gpu.cuda.driver import Card, Direction, Driver
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.executable import GpuExecutable
from staticgraph.runtime.gpu.timing import UNTIMED, Timing
from staticgraph.runtime.profiling.times import Limits, Times


class GpuMeter:
    """Measures what a GPU does: rates and limits are those of all of it."""

    def __init__(self, device: Device) -> None:
        self.device = device.name
        self._driver = device.driver

    def timed(self, program: Executable) -> TimedOnCard | None:
        """The version of a program that has marks in it."""
        return TimedOnCard(program) if isinstance(program, GpuExecutable) else None

    def limits(self) -> Limits:
        """Return the peak rates of the GPU, measured once in a process."""
        card = self._driver.card
        if card not in _LIMITS:
            driver = self._driver.another()  # the session may be closed
            try:
                _LIMITS[card] = measured(driver)
            finally:
                driver.close()
        return _LIMITS[card]


_LIMITS: dict[Card, Limits] = {}


class TimedOnCard:
    """A program that is captured anew, with marks, and again when that is over."""

    def __init__(self, program: GpuExecutable) -> None:
        self._timing = Timing(program.driver)

    def run(self, program: Executable) -> None:
        """Begin to take the time, from zero."""
        assert isinstance(program, GpuExecutable)
        program.time(self._timing)

    def stop(self, program: Executable) -> None:
        """Take no time any more."""
        assert isinstance(program, GpuExecutable)
        program.time(UNTIMED)

    def read(self, program: Executable) -> Times | None:
        """Return the measured times; None if the program did not run."""
        return self._timing.times()


THREADS = 256
_BLOCKS = 8  # for each multiprocessor
_CHAINS = 8  # of multiply-adds that do not wait for each other
_LOOKS = 4
_LONG_ENOUGH = 1e6  # nanoseconds
_MOST_ROUNDS = 1 << 16
CACHE = 4 << 20  # bytes that every GPU's cache has room for
_MEMORY = 512 << 20  # of larger arrays, where the GPU has 64 times as much


def measured(driver: Driver) -> Limits:
    """Measure the peak rates of a GPU."""
    blocks = _BLOCKS * driver.card.multiprocessors
    narrow, wide, moves = _chains(float32, blocks), _chains(float64, blocks), _moves(blocks)
    calls = narrow, wide, moves
    kernels = dict(zip(calls, driver.load([each.function for each in calls]), strict=True))
    size = min(_MEMORY, driver.card.memory // 64)
    counts, data = driver.allocate(8), driver.allocate(max(size, 8 * blocks * THREADS))

    def seconds(which: FunctionCall, elements: int, *arguments: int) -> Callable[[int], float]:
        def run(rounds: int) -> float:
            told = np.array([rounds, elements], np.int32)
            driver.copy(counts, told.ctypes.data, told.nbytes, Direction.TO_DEVICE)
            return _time(driver, lambda: kernels[which]([counts, *arguments]))

        return run

    def flops(which: FunctionCall) -> float:
        return 2.0 * _CHAINS * blocks * THREADS * _rate(seconds(which, 0, data))

    def bandwidth(room: int) -> float:
        half = room // 2 // 256 * 256
        return 2.0 * half * _rate(seconds(moves, half // 16, data, data + half))

    rates = {"cache": bandwidth(min(CACHE, size)), "memory": bandwidth(size)}
    return Limits(flops(narrow), rates, "GPU", flops(wide), {"cache": CACHE, "memory": size})


def _rate(seconds: Callable[[int], float]) -> float:
    """Rounds per second, of as many as take long enough."""
    rounds = 1
    while seconds(rounds) < 1e-9 * _LONG_ENOUGH and rounds < _MOST_ROUNDS:
        rounds *= 4
    return rounds / min(seconds(rounds) for _ in range(_LOOKS))


def _time(driver: Driver, ask: Callable[[], None]) -> float:
    """Seconds that the GPU takes for something that was done before."""
    ask()
    start = driver.mark()
    ask()
    end = driver.mark()
    driver.synchronize()
    return max(1e-9 * end.since(start), 1e-9)


def _chains(dtype: DType, blocks: int) -> FunctionCall:
    """`rounds` multiply-adds in each of some chains, in each thread."""
    kind, fma = ("double", "fma") if dtype is float64 else ("float", "fmaf")
    starts = "\n".join(f"{kind} x{n} = {kind}(threadIdx.x + {n});" for n in range(_CHAINS))
    steps = " ".join(f"x{n} = {fma}(x{n}, {kind}(0.5), {kind}(1));" for n in range(_CHAINS))
    total = " + ".join(f"x{n}" for n in range(_CHAINS))
    body = f"""\
{starts}
const int rounds = counts[0];
for (int round = 0; round < rounds; ++round) {{ {steps} }}
out[int(blockIdx.x) * {THREADS} + threadIdx.x] = {total};"""
    parameters = [Parameter("counts", int32), Parameter("out", dtype, written=True)]
    return call("chains", parameters, body, (blocks, 1, 1), (THREADS, 1, 1))


def _moves(blocks: int) -> FunctionCall:
    """`rounds` copies of so many float4."""
    body = f"""\
const int rounds = counts[0], count = counts[1];
const float4* from = reinterpret_cast<const float4*>(source);
float4* to = reinterpret_cast<float4*>(target);
const int first = int(blockIdx.x) * {THREADS} + threadIdx.x;
for (int round = 0; round < rounds; ++round)
  for (int i = first; i < count; i += {blocks * THREADS}) to[i] = from[i];"""
    parameters = [
        Parameter("counts", int32),
        Parameter("source", float32),
        Parameter("target", float32, written=True),
    ]
    return call("moves", parameters, body, (blocks, 1, 1), (THREADS, 1, 1))
