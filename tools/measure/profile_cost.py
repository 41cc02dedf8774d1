"""Cost of a profile, and whether its times add up to what a clock outside shows.

    python tools/measure/profile_cost.py [--threads 1] [--batch 50]

Trains the net of examples/digits_cnn.py on random digits, with and without a profile by turns. It prints the
shortest time of a step, and how much of the time of all profiled steps the profile explains.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import staticgraph as sg
from staticgraph.runtime.profiling.step_times import OTHER

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))
from digits_cnn import build

TURNS, RUNS = 30, 20


@dataclass(frozen=True, slots=True)
class Cost:
    """The shortest step without a profile and with one, in seconds. Of the time of all profiled steps: the
    share that the profile finds in kernels, and in all.
    """

    plain: float
    profiled: float
    kernels: float
    told: float

    def __str__(self) -> str:
        lines = {
            "a step": f"{1e6 * self.plain:.1f} us",
            "a step that is profiled": f"{1e6 * self.profiled:.1f} us, {self.profiled / self.plain - 1:+.1%}",
            "the kernels' times add up to": f"{self.kernels:.1%} of the time outside",
            "all that the profile tells": f"{self.told:.1%} of the time outside",
        }
        return "\n".join(f"{name:>30}  {text}" for name, text in lines.items())


def measure(batch: int) -> Cost:
    """Of some turns, each with and without a profile."""
    images = sg.placeholder(sg.float32, [None, 8, 8, 1])
    labels = sg.placeholder(sg.int64, [None])
    scores = build(images, sg.constant(True))
    loss = sg.losses.sparse_softmax_cross_entropy(labels, scores)
    fetches = [loss, sg.train.AdamOptimizer(1e-3).minimize(loss)]
    rng = np.random.default_rng(0)
    feeds = {images: rng.random((batch, 8, 8, 1), np.float32), labels: rng.integers(0, 10, batch)}
    plain, profiled, kernels, told = [], [], 0.0, 0.0
    with sg.Session() as sess:
        sess.run(sg.global_variables_initializer())
        for _ in range(TURNS):
            plain += seconds(lambda: sess.run(fetches, feeds))
            with sess.profile() as profile:
                profiled += seconds(lambda: sess.run(fetches, feeds))
            (times,) = profile.steps
            kernels += sum(k.nanoseconds for k in times.kernels if k.name != OTHER) / times.threads
            told += sum(k.nanoseconds for k in times.kernels) / times.threads
    outside = 1e9 * sum(profiled)
    return Cost(min(plain), min(profiled), kernels / outside, told / outside)


def seconds(step: Callable[[], object]) -> list[float]:
    """The times of some steps."""
    found = []
    for _ in range(RUNS):
        start = time.perf_counter()
        step()
        found.append(time.perf_counter() - start)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="threads that work on a step (default 1)")
    parser.add_argument("--batch", type=int, default=50, help="digits of a step (default 50)")
    arguments = parser.parse_args()
    sg.set_num_threads(arguments.threads)
    print(measure(arguments.batch))
