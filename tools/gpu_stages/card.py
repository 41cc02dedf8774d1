"""Kernels and times that say what a card can do at best, whatever the compiler makes of a graph."""

from __future__ import annotations

from collections.abc import Callable

from gpu_stages.setting import seconds_per_call
from staticgraph.compiler.codegen.cuda.function import Function, Parameter, call
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.runtime.gpu.driver import Driver, Graph

BLOCKS_PER_CORE = 8
THREADS = 256
_PAIR = (Parameter("x", float32), Parameter("y", float32, written=True))
_LOOP = """
const float4* from = reinterpret_cast<const float4*>(x);
int step = gridDim.x * blockDim.x;
"""


def copying(driver: Driver, elements: int) -> Function:
    """Copies so many floats, a multiple of 4."""
    body = f"""{_LOOP}float4* to = reinterpret_cast<float4*>(y);
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < {elements // 4}; i += step) to[i] = from[i];"""
    return _function("copying", driver, body)


def reading(driver: Driver, elements: int) -> Function:
    """Reads so many floats. It would write if their sum were a number that it is not."""
    body = f"""{_LOOP}float total = 0.0f;
for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < {elements // 4}; i += step) {{
  float4 v = from[i];
  total += (v.x + v.y) + (v.z + v.w);
}}
if (total == -12345.678f) y[0] = total;"""
    return _function("reading", driver, body)


def nothing(driver: Driver) -> Function:
    """One thread that writes one number."""
    return call("nothing", _PAIR, "y[0] = x[0];", (1, 1, 1), (1, 1, 1)).function


def _function(kind: str, driver: Driver, body: str) -> Function:
    blocks = BLOCKS_PER_CORE * driver.card.multiprocessors
    return call(kind, _PAIR, body, (blocks, 1, 1), (THREADS, 1, 1)).function


def captured(driver: Driver, *asking: Callable[[], None]) -> Graph:
    """Work as a graph. It is done once before: what is loaded lazily is loaded then."""
    for ask in dict.fromkeys(asking):
        ask()
    driver.synchronize()
    driver.begin_capture()
    try:
        for ask in asking:
            ask()
    except BaseException:
        driver.abandon_capture()
        raise
    return driver.end_capture()


def seconds(driver: Driver, ask: Callable[[], None], times: int = 20, budget: float = 0.4) -> float:
    """How long a piece of work takes the card: one of many in a graph."""
    graph = captured(driver, *[ask] * times)
    return seconds_per_call(graph.replay, driver.synchronize, budget) / times


def ceilings(driver: Driver, bytes_: int) -> tuple[float, float]:
    """Bytes per second that are copied, each read and written, and that are only read."""
    elements = bytes_ // 4
    copy, read = driver.load([copying(driver, elements), reading(driver, elements)])
    x, y = driver.allocate(bytes_), driver.allocate(bytes_)
    try:
        return (
            2 * bytes_ / seconds(driver, lambda: copy((x, y))),
            bytes_ / seconds(driver, lambda: read((x, y))),
        )
    finally:
        driver.free(x)
        driver.free(y)
