"""Work that is captured, and how long it takes the card."""

from __future__ import annotations

from collections.abc import Callable

from gpu_stages.setting import seconds_per_call
from staticgraph.compiler.codegen.cuda.function import CudaFunction, Parameter, call
from staticgraph.compiler.graph.dtypes import float32
from staticgraph.runtime.gpu.cuda.driver import Driver, DriverGraph

PAIR = (Parameter("x", float32), Parameter("y", float32, written=True))


def nothing(driver: Driver) -> CudaFunction:
    """One thread that writes one number."""
    return call("nothing", PAIR, "y[0] = x[0];", (1, 1, 1), (1, 1, 1)).function


def captured(driver: Driver, *asking: Callable[[], None]) -> DriverGraph:
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
    """Return the time that a piece of work takes the card: one of many in a graph."""
    graph = captured(driver, *[ask] * times)
    return seconds_per_call(graph.replay, driver.synchronize, budget) / times
