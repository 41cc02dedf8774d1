"""SIGINT at random moments of steps with and without loops: all variables change, or none."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg

SIZE = 300
LATEST = 0.08  # seconds: about twice as long as a step takes


def run(count: int, seed: int, folder: Path) -> str:
    """Interrupt so many steps."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chance = random.Random(seed)
    stopped = 0
    with sg.Session() as sess:
        steps = [_product(), _loop(), _row_of_small_kernels()]
        sess.run(sg.global_variables_initializer())
        for number in range(count):
            step, variables = steps[number % len(steps)]
            before = sess.run(variables)
            stopped += _interrupted(lambda step=step: sess.run(step), chance.uniform(0, LATEST))
            after = sess.run(variables)
            moved = {float(new.flat[0] - old.flat[0]) for new, old in zip(after, before, strict=True)}
            torn = [value for value in after if np.ptp(value)]
            assert moved in ({0.0}, {1.0}) and not torn, (number, moved, torn)
    return f"{stopped} of {count} steps were stopped; all variables changed or none"


def _interrupted(work: Callable[[], Any], seconds: float) -> bool:
    """Do some work and have SIGINT sent meanwhile or afterwards; return if the work was stopped."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    done = False
    try:
        timer.start()
        work()
        done = True
        timer.join()
        while True:  # the signal may come a moment later
            threading.Event().wait(0.001)
    except KeyboardInterrupt:
        timer.join()
    return not done


def _counters(count: int) -> list[Any]:
    return [sg.Variable(np.zeros((SIZE, SIZE), np.float32)) for _ in range(count)]


def _updates(counters: list[Any], one: Any) -> Any:
    return sg.group(*(each.assign_add(sg.ones_like(each) * one) for each in counters))


def _product() -> tuple[Any, list[Any]]:
    x = sg.constant(np.eye(SIZE, dtype=np.float32))
    made = counters = _counters(3)
    y = x + counters[0] * 0.0
    for _ in range(60):
        y = sg.matmul(y, x)
    return _updates(counters, y[0, 0]), made


def _loop() -> tuple[Any, list[Any]]:
    counters = _counters(2)
    start = sg.reduce_max(counters[0]) * 0.0 + 1.0
    _, y = sg.while_loop(lambda i, a: i < 3_000_000, lambda i, a: (i + 1, sg.minimum(a, 1.0)), [0, start])
    return _updates(counters, y), counters


def _row_of_small_kernels() -> tuple[Any, list[Any]]:
    counters = _counters(2)
    y = sg.reshape(counters[0], [-1]) * 0.0 + 1.0
    for _ in range(40):
        y = sg.minimum(sg.cumsum(sg.tanh(y)), 1.0)
    return _updates(counters, y[1] / y[1]), counters
