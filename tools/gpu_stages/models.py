"""Comparison of whole training steps on the card with those on the processor."""

from __future__ import annotations

import time

import numpy as np

import staticgraph as sg
from benchmarks.workloads import Data
from gpu_stages.setting import Setting
from gpu_stages.sizes import STEPS, Step
from gpu_stages.training import ours

ROUNDS = 20
TOLERANCE, JOLT = 2e-5, 1e-6  # of a loss, and of weights, by which losses of another run differ
# The processor has to do them as well.
SMALL = {"transformer": {"batch": 4, "time": 64, "width": 128, "heads": 4}, "resnet18": {"batch": 8}}


def run(setting: Setting) -> None:
    """The stage."""
    for name in STEPS:
        if setting.within(name, 3):
            with setting.findings.trying(name):
                _alike(setting, name)
    if setting.within("two sessions", 2):
        with setting.findings.trying("two sessions"):
            _two_sessions(setting)
    if setting.within("other shapes", 2):
        with setting.findings.trying("other shapes"):
            _other_shapes(setting)


def _alike(setting: Setting, name: str) -> None:
    """As many losses, from the same weights and batches."""
    step = STEPS[name]
    data = step.data(setting.small, SMALL.get(name))
    start = time.perf_counter()
    mine = _losses(step, data, setting.device)
    setting.findings.measured(f"{name}: {ROUNDS} steps, compiled and run", time.perf_counter() - start, "s")
    other = _losses(step, data, "cpu")
    rng = np.random.default_rng(1)
    for value in data.weights.values():
        value *= (1 + JOLT * rng.standard_normal(value.shape)).astype(np.float32)
    # What is unstable in itself may differ more, as it does on the processor when rounded otherwise.
    unstable = np.maximum.accumulate(_off(_losses(step, data, "cpu"), other))
    off = _off(mine, other)
    text = f"{ROUNDS} losses from {mine[0]:.4g} to {mine[-1]:.4g}, off by {off.max():.1e} at most"
    setting.findings.check(name, bool(np.all(off <= TOLERANCE + 10 * unstable)), text)


def _losses(step: Step, data: Data, device: str) -> np.ndarray:
    run_one = ours(step, data, device)
    return np.array([run_one() for _ in range(ROUNDS)], np.float64)


def _off(some: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.abs(some - other) / np.maximum(np.abs(other), 1e-3)


def _two_sessions(setting: Setting) -> None:
    """Each has variables of its own, and their steps may take turns."""
    with sg.Graph().as_default():
        v = sg.Variable(np.ones(1000, np.float32))
        x = sg.placeholder(sg.float32, [])
        add = sg.assign_add(v, x * sg.ones_like(v))
        total = sg.reduce_sum(v)
        with setting.session() as one, setting.session() as two:
            for _ in range(5):
                one.run(add, {x: 1.0})
                two.run(add, {x: -2.0})
            found = float(one.run(total)), float(two.run(total))
    setting.findings.check("two sessions do not disturb each other", found == (6000.0, -9000.0), str(found))


def _other_shapes(setting: Setting) -> None:
    """Feeds of other shapes are other graphs, with the same variables."""
    rng = np.random.default_rng(1)
    with sg.Graph().as_default():
        x = sg.placeholder(sg.float32, [None, 7])
        w = sg.Variable(rng.standard_normal((7, 3)).astype(np.float32))
        y = sg.nn.softmax(sg.matmul(x, w))
        with setting.session() as session:
            value = session.run(w)
            worst = 0.0
            for rows in (3, 8, 3, 1, 8, 5):
                fed = rng.standard_normal((rows, 7)).astype(np.float32)
                z = np.exp(fed @ value)
                found = session.run(y, {x: fed})
                worst = max(worst, float(np.abs(found - z / z.sum(1, keepdims=True)).max()))
    setting.findings.check("feeds of other shapes", worst < 1e-5, f"off by {worst:.1e}")
