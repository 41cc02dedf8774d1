"""Cost of a run beside the work of the card."""

from __future__ import annotations

import time

import numpy as np

import staticgraph as sg
from gpu_stages import card
from gpu_stages.setting import Setting, seconds_per_call
from gpu_stages.sizes import STEPS
from gpu_stages.training import ours
from staticgraph.runtime.gpu.cuda.driver import Driver, DriverGraph
from staticgraph.runtime.gpu.graphs.order import Overlap

NODES = (1, 10, 50, 100, 200, 400)
CHAINS = 8
BOTH_WAYS = ("small_mlp", "mlp", "lstm", "lenet", "transformer")
MOST_HOST, MOST_SMALL_STEP = 15.0, 60.0  # microseconds


def run(setting: Setting) -> None:
    """The stage."""
    for name, part in (("runs", _runs), ("small steps", _small_step), ("nodes", _nodes), ("chains", _chains)):
        if setting.within(name, 2):
            with setting.findings.trying(name):
                part(setting)
    for name in BOTH_WAYS[: setting.sized(len(BOTH_WAYS), 1)]:
        if setting.within(f"{name}, both ways", 6):
            with setting.findings.trying(f"{name}, both ways"):
                _both_ways(setting, name)


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


def _both_ways(setting: Setting, name: str) -> None:
    """A step whose independent work is done side by side, and one after the other."""
    step = STEPS[name]
    data = step.data(setting.small)
    for how, overlap in (("one after the other", False), ("side by side", True)):
        took = seconds_per_call(ours(step, data, setting.device, overlap=overlap), lambda: None)
        setting.findings.measured(f"a step of {name}, {how}", 1e6 * took, "us")


def _nodes(setting: Setting) -> None:
    with setting.driver() as driver:
        for count in NODES[: setting.sized(len(NODES), 2)]:
            _replayed(setting, driver, count)


def _chains(setting: Setting) -> None:
    """As many nodes as above, of which some need not wait for each other."""
    with setting.driver() as driver:
        if not driver.overlaps:
            setting.findings.note("chains", "the system's driver is too old: captured work is one chain")
            return
        (kernel,) = driver.load([card.nothing(driver)])
        pairs = [(driver.allocate(256), driver.allocate(256)) for _ in range(CHAINS)]
        kernel(pairs[0])
        count = NODES[setting.sized(len(NODES), 2) - 1]
        driver.begin_capture()
        overlap = Overlap(driver)
        for n in range(count):
            x, y = pairs[n % CHAINS]
            with overlap.work([(x, x + 256)], [(y, y + 256)]):
                kernel((x, y))
        _timed(setting, driver, driver.end_capture(), f"a replay of {count} nodes in {CHAINS} chains")


def _replayed(setting: Setting, driver: Driver, count: int) -> None:
    (kernel,) = driver.load([card.nothing(driver)])
    x, y = driver.allocate(256), driver.allocate(256)
    start = time.perf_counter()
    graph = card.captured(driver, *[lambda: kernel((x, y))] * count)
    built = time.perf_counter() - start
    _timed(setting, driver, graph, f"a replay of {count} nodes", f"captured in {1e3 * built:.1f} ms")
    driver.free(x)
    driver.free(y)


def _timed(setting: Setting, driver: Driver, graph: DriverGraph, name: str, text: str = "") -> None:
    def ended() -> None:
        graph.replay()
        driver.synchronize()

    took = seconds_per_call(ended, lambda: None)
    setting.findings.measured(f"{name}, and the wait", 1e6 * took, "us", text=text)
