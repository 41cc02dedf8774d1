"""Indices that several launches need in order are sorted once, constant ones in the first run alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import staticgraph as sg
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.gpu.step import GpuCompiled
from staticgraph.compiler.kernel.schedule_gpu.scans import forms
from staticgraph.runtime.gpu.simulator.driver import Simulator
from staticgraph.runtime.gpu.simulator.queue import DeviceError
from tests.gpu.sessions import check_alike, draws, on, played
from tests.passes.steps import step_of

pytestmark = pytest.mark.takes_long

NODES, EDGES, WIDTH = 20, 300, 4


@pytest.fixture(autouse=True)
def _always_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "_is_crowded", lambda form: True)


def graph_net(constant: bool = False) -> tuple[Any, Any]:
    """Two layers of messages along the same edges, which are other ones in every run, or constant."""
    ends = np.random.default_rng(0).integers(0, NODES, (4, 2, EDGES)).astype(np.int32)
    x, w = sg.placeholder(sg.float32, [NODES, WIDTH]), sg.get_variable("w", [WIDTH, WIDTH])
    fed = [sg.placeholder(sg.int32, [EDGES]) for _ in range(2)]
    senders, receivers = [sg.constant(each) for each in ends[0]] if constant else fed
    h = x
    for _ in range(2):
        h = sg.tanh(sg.unsorted_segment_sum(sg.gather(h @ w, senders), receivers, NODES) + h)
    loss = sg.reduce_mean(sg.square(h))
    values = draws(1, NODES, WIDTH)

    def feeds(n: int) -> dict[Any, Any]:
        return (
            {x: values[n % 4]} if constant else {x: values[n % 4], **dict(zip(fed, ends[n % 4], strict=True))}
        )

    return [loss, sg.train.GradientDescentOptimizer(0.1).minimize(loss)], feeds


def planned(fetches: list[Any], feeds: dict[Any, Any]) -> GpuCompiled:
    return compile_gpu(step_of(fetches, feeds))


@pytest.mark.parametrize("constant", [False, True], ids=["fed", "constant"])
def test_a_step_that_keeps_orders_trains_as_on_the_processor(host: str, constant: bool):
    driver = Simulator(3)

    def model() -> tuple[Any, Any]:
        fetches, feeds = graph_net(constant)

        def in_another_order(n: int) -> dict[Any, Any]:
            driver.schedule = n
            return feeds(n)

        return fetches, in_another_order

    check_alike(played(lambda: graph_net(constant), None, 6), played(model, driver, 6), 5e-5)


@pytest.mark.parametrize("constant", [False, True], ids=["fed", "constant"])
def test_each_order_is_made_once(constant: bool):
    with sg.Graph().as_default():
        fetches, feeds = graph_net(constant)
        kept = planned(fetches, feeds(0)).kept
    users = [*kept.of.values()]
    assert len(users) == 4 and sum(each.sorts for each in users) == 2
    assert {each.once for each in users} == {constant}
    assert kept.size >= 2 * 2 * 4 * EDGES


def test_constants_are_sorted_in_the_first_run_alone(host: str, monkeypatch: pytest.MonkeyPatch):
    launches = []
    with sg.Graph().as_default(), on(driver := Simulator()), sg.Session(overlap=False) as session:
        fetches, feeds = graph_net(constant=True)
        session.run(sg.global_variables_initializer())
        for n in range(4):
            before = driver.counts.launches
            session.run(fetches, feeds(n))
            launches.append(driver.counts.launches - before)
    assert launches[0] > launches[1] == launches[2] == launches[3]


def test_indices_that_the_step_changes_are_sorted_again(host: str):
    """A variable may have other values when the next launch reads it."""

    def model() -> tuple[Any, Any]:
        places = sg.get_variable("places", initializer=np.arange(40, dtype=np.int32) % 7, trainable=False)
        x = sg.placeholder(sg.float32, [40, 3])
        first = sg.unsorted_segment_sum(x, places.read_value(), 9)
        with sg.control_dependencies([first]):
            moved = sg.assign(places, (places + 1) % 9)
        with sg.control_dependencies([moved]):
            second = sg.unsorted_segment_sum(x * 2, places.read_value(), 9)
        return [first, second], lambda n: {x: draws(2, 40, 3)[n % 4]}

    check_alike(played(model, None, 4), played(model, Simulator(3), 4))
    with sg.Graph().as_default():
        fetches, feeds = model()
        assert not planned(fetches, feeds(0)).kept.of


def test_a_first_run_that_fails_leaves_no_order_that_counts(host: str):
    driver = Simulator()
    with sg.Graph().as_default(), on(driver), sg.Session() as session:
        sg.set_random_seed(5)
        fetches, feeds = graph_net(constant=True)
        session.run(sg.global_variables_initializer())
        session.run(sg.global_variables())  # all is done before the first fault
        for after in (0, 2, 4):
            driver.fail("launch", after)
            with pytest.raises(DeviceError):
                session.run(fetches[0], feeds(0))
        found = [session.run(fetches, feeds(n)) for n in range(3)]
    expected = played(lambda: graph_net(constant=True), None, 3)[:3]
    check_alike(expected, found, 5e-5)


def test_where_memory_is_short_nothing_is_kept(host: str):
    with sg.Graph().as_default():
        fetches, feeds = graph_net()
        step = step_of(fetches, feeds(0))
    roomy = compile_gpu(step)
    tight = compile_gpu(step, memory_limit=roomy.memory.peak - 1)
    assert roomy.kept.size and not tight.kept.size
    assert tight.memory.peak < roomy.memory.peak
