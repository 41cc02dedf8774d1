"""Graphs that run on the processor and on the stand-in for a card, to compare what they give."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.runtime.cpu.backend import CpuBackend
from staticgraph.runtime.gpu.backend import GpuBackend
from staticgraph.runtime.gpu.device import Device
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.switches import Settings

Feeds = Callable[[int], dict[Any, Any]]  # of a run, by its number
Model = Callable[[], tuple[Any, Feeds]]  # builds a graph: what is fetched, and the feeds


@contextmanager
def on(driver: Simulator | None) -> Iterator[None]:
    """Context in which sessions run on a driver; None: on the processor."""
    device = None if driver is None else Device(driver)

    def backend(settings: Settings, config: Any) -> CpuBackend | GpuBackend:
        return CpuBackend(settings) if device is None else GpuBackend(device, settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("staticgraph.runtime.session.open_backend", backend)
        yield


def played(model: Model, driver: Simulator | None, runs: int) -> list[Any]:
    """Return the results of a model in as many runs, and the values of its variables at last."""
    with sg.Graph().as_default(), on(driver):
        sg.set_random_seed(5)
        fetches, feeds = model()
        with sg.Session() as session:
            session.run(sg.global_variables_initializer())
            found = [session.run(fetches, feeds(number)) for number in range(runs)]
            return [*found, session.run(sg.global_variables())]


def check_alike(mine: Any, other: Any, tolerance: float = 2e-6) -> None:
    """Numbers, lists and dicts of them: floats may differ by so much of the largest of their array."""
    if isinstance(mine, list | tuple):
        assert len(mine) == len(other)
        for one, two in zip(mine, other, strict=True):
            check_alike(one, two, tolerance)
        return
    if isinstance(mine, dict):
        assert mine.keys() == other.keys()
        check_alike([*mine.values()], [*other.values()], tolerance)
        return
    if mine is None:
        assert other is None
        return
    one, two = np.asarray(mine), np.asarray(other)
    assert (one.shape, one.dtype) == (two.shape, two.dtype)
    if one.dtype.kind == "f":
        wide = one.astype(np.float64), two.astype(np.float64)
        scale = np.nanmax(np.abs(wide[0]), initial=1e-6)
        np.testing.assert_allclose(*wide, rtol=tolerance, atol=tolerance * scale)
    else:
        np.testing.assert_array_equal(one, two)


def draws(seed: int, *shape: int, runs: int = 4) -> np.ndarray:
    """Normal numbers for each of so many runs, after which they come again."""
    return np.random.default_rng(seed).standard_normal((runs, *shape)).astype(np.float32)
