"""What a run costs beside the work of the card."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import staticgraph as sg
from gpu_stages import card
from gpu_stages.setting import Setting, seconds_per_call
from gpu_stages.sizes import STEPS
from gpu_stages.training import ours
from staticgraph.runtime.gpu.driver import Driver

NODES = (1, 10, 50, 100, 200, 400)
MOST_HOST, MOST_SMALL_STEP = 15.0, 60.0  # microseconds


def run(setting: Setting) -> None:
    """The stage."""
    for name, part in (("runs", _runs), ("small steps", _small_step), ("nodes", _nodes)):
        if setting.within(name, 2):
            with setting.findings.trying(name):
                part(setting)


def _runs(setting: Setting) -> None:
    """A step with two feeds, of hardly any work."""
    with sg.Graph().as_default():
        x, y = (sg.placeholder(sg.float32, [64]) for _ in range(2))
        v = sg.Variable(np.ones(64, np.float32))
        total, change = sg.reduce_sum(x * y * v), sg.assign(v, x + y)
        feeds = {x: np.ones(64, np.float32), y: np.ones(64, np.float32)}
        with setting.session() as session:
            for name, fetched, most in (
                ("a run with two feeds and a scalar fetched", total, None),
                ("the host's time of a run with two feeds, nothing fetched", change.op, MOST_HOST),
            ):
                session.run(fetched, feeds)
                session.run(fetched, feeds)
                took = seconds_per_call(lambda op=fetched: session.run(op, feeds), lambda: session.run(v))
                setting.findings.measured(name, 1e6 * took, "us", None if setting.small else most, most=True)


def _small_step(setting: Setting) -> None:
    small = STEPS["small_mlp"]
    step = ours(small, small.data(setting.small), setting.device)
    took = seconds_per_call(step, lambda: None, budget=1.0)
    most = None if setting.small else MOST_SMALL_STEP
    setting.findings.measured("a step of the small net, loss fetched", 1e6 * took, "us", most, most=True)


def _nodes(setting: Setting) -> None:
    with setting.driver() as driver:
        for count in NODES[: setting.sized(len(NODES), 2)]:
            _replayed(setting, driver, count)


def _replayed(setting: Setting, driver: Driver, count: int) -> None:
    (kernel,) = driver.load([card.nothing(driver)])
    x, y = driver.allocate(256), driver.allocate(256)
    start = time.perf_counter()
    graph = card.captured(driver, *[lambda: kernel((x, y))] * count)
    built = time.perf_counter() - start

    def ended() -> Any:
        graph.replay()
        driver.synchronize()

    took = seconds_per_call(ended, lambda: None)
    text = f"captured in {1e3 * built:.1f} ms"
    setting.findings.measured(f"a replay of {count} nodes, and the wait", 1e6 * took, "us", text=text)
    driver.free(x)
    driver.free(y)
