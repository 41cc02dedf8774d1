"""A card without enough memory for what libraries and work side by side would like: runs do with less."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.kernel.schedule_gpu.products import convolved
from staticgraph.runtime.gpu.simulator.driver import Simulator
from tests.gpu.sessions import check_alike, draws, on


@pytest.fixture(autouse=True)
def _small_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library is asked for convolutions of any size."""
    monkeypatch.setattr(convolved, "_LEAST", 1)
    monkeypatch.setattr(convolved, "_TENSOR_CORES_ALONE", False)


def net() -> tuple[Any, Any]:
    x = sg.placeholder(sg.float32, [None, 9, 9, 8])
    w = sg.get_variable("w", [3, 3, 8, 8])
    loss = sg.reduce_mean(sg.square(sg.nn.relu(sg.nn.conv2d(x, w, 1, "SAME"))))
    return [loss, sg.train.GradientDescentOptimizer(0.5).minimize(loss)], x


def trained(driver: Simulator | None, opens: bool, sizes: tuple[int, ...] = (2, 2, 2, 3)) -> list[Any]:
    with sg.Graph().as_default(), on(driver), sg.Session(open_sizes=opens) as session:
        sg.set_random_seed(5)
        fetches, x = net()
        session.run(sg.global_variables_initializer())
        found = [session.run(fetches, {x: draws(n, n, 9, 9, 8)[0]})[0] for n in sizes]
        return [*found, session.run(sg.global_variables())]


@pytest.mark.parametrize("opens", [True, False])
def test_own_functions_do_convolutions_for_which_there_is_no_memory(host: str, opens: bool):
    short, roomy = (Simulator(convolutions=True, limit=limit) for limit in (4 << 20, 1 << 30))
    with pytest.warns(RuntimeWarning, match="functions of our own do the convolutions"):
        found = trained(short, opens)
    check_alike(found, trained(roomy, opens), 1e-4)
    assert roomy.counts.convolutions > 0 == short.counts.convolutions
    assert short.memory.used <= 4 << 20 and short.counts.replays > 0


def test_work_that_shares_scratch_memory_needs_less(host: str):
    """Sums of two functions each, of which each has memory of its own where there is enough."""

    def ran(limit: int) -> tuple[int, int, list[Any]]:
        driver = Simulator(limit=limit)
        with sg.Graph().as_default(), on(driver), sg.Session() as session:
            feeds = {sg.placeholder(sg.float32, [1024, n]): draws(n, 1024, n)[0] for n in (512, 480, 448)}
            sums = [sg.reduce_sum(x, 0) for x in feeds]
            found = [session.run(sums, feeds) for _ in range(3)][-1]
            return driver.memory.used, session.executable(sums, feeds).prepared.scratch, found

    used, most, expected = ran(1 << 30)
    _, less, found = ran(used - 1024)
    assert less < most
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)
