"""Sizes that change from run to run: one program for all of them, and what a new size costs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import staticgraph as sg
from gpu_stages.setting import Setting, seconds_per_call

SIZES = (128, 96, 1, 77, 128, 33, 96)
WIDTH, CLASSES = 256, 10
MOST_NEW = 20.0  # milliseconds of the first two runs of a size


def run(setting: Setting) -> None:
    """The stage."""
    for name, build in (("dense layers", _dense), ("a recurrent layer", _recurrent)):
        if setting.within(name, 5):
            with setting.findings.trying(name):
                _trained(setting, name, build)


def _trained(setting: Setting, name: str, build: Any) -> None:
    sizes = tuple(-(-size // setting.sized(1, 8)) for size in SIZES[: setting.sized(len(SIZES), 3)])
    opened, took, compiles = _losses(setting, name, build, sizes, True)
    closed, _, _ = _losses(setting, name, build, sizes, False)
    setting.findings.check(
        f"{name}: one program", compiles == 1, f"{compiles} compiles for {len(set(sizes))} sizes"
    )
    off = max(abs(a - b) / max(abs(b), 1e-3) for a, b in zip(opened, closed, strict=True))
    setting.findings.check(
        f"{name}: losses are those of programs for one size", off < 1e-5, f"off by {off:.1e}"
    )
    most = None if setting.small else MOST_NEW
    setting.findings.measured(f"{name}: two runs of a new size", 1e3 * max(took), "ms", most, most=True)


def _losses(
    setting: Setting, name: str, build: Any, sizes: tuple[int, ...], opens: bool
) -> tuple[list[float], list[float], int]:
    """Losses of two steps for each size, the seconds of those of each new size, and the compiles of steps."""
    rng, found, took, seen = np.random.default_rng(0), list[float](), list[float](), set[int]()
    with (
        sg.Graph().as_default(),
        sg.options(device=setting.device, open_sizes=opens),
        sg.Session() as session,
    ):
        sg.set_random_seed(1)
        fetches, feeds = build(setting.sized(WIDTH, 8))
        session.run(sg.global_variables_initializer())
        before = len(session.compiles)
        for size in sizes:
            given = feeds(rng, size)
            start = time.perf_counter()
            found += [float(session.run(fetches, given)[0]) for _ in range(2)]
            if seen and size not in seen:
                took.append(time.perf_counter() - start)
            seen.add(size)
        compiles = len(session.compiles) - before
        if opens:
            step = seconds_per_call(lambda: session.run(fetches, given), lambda: None, budget=0.3)
            setting.findings.measured(f"{name}: a step of {size} rows", 1e6 * step, "us")
    return found, took, compiles


def _dense(width: int) -> tuple[Any, Any]:
    x, labels = sg.placeholder(sg.float32, [None, width]), sg.placeholder(sg.int32, [None])
    logits = sg.layers.dense(sg.layers.dense(x, width, sg.nn.relu), CLASSES)
    loss = sg.reduce_mean(sg.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))

    def feeds(rng: np.random.Generator, size: int) -> dict[Any, Any]:
        return {x: rng.standard_normal((size, width)), labels: rng.integers(0, CLASSES, size)}

    return [loss, sg.train.AdamOptimizer(0.001).minimize(loss)], feeds


def _recurrent(width: int) -> tuple[Any, Any]:
    x = sg.placeholder(sg.float32, [None, 8, width])
    outputs, _ = sg.nn.static_rnn(sg.nn.rnn_cell.GRUCell(width), sg.unstack(x, axis=1), dtype=sg.float32)
    loss = sg.reduce_mean(sg.square(outputs[-1] - 1.0))
    step = sg.train.GradientDescentOptimizer(0.1).minimize(loss)
    return [loss, step], lambda rng, size: {x: rng.standard_normal((size, 8, width))}
