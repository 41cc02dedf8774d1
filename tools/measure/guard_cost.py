"""Cost of looking for NaN in each run: `Session(check_nan=True)`.

    python tools/measure/guard_cost.py [--threads 1] [--batch 50]

Trains the net of examples/digits_cnn.py on random digits, in a session that looks and in one that does not by
turns. It prints the kernels and bytes of a step in both, and how their times compare.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import staticgraph as sg

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))
from digits_cnn import build

TURNS, WARM = 500, 20


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a step without the guard and with it: kernels, bytes moved, and the seconds that each turn took."""

    kernels: tuple[int, int]
    bytes: tuple[int, int]
    times: tuple[list[float], list[float]]

    def __str__(self) -> str:
        plain, guarded = map(statistics.median, self.times)
        pairs = [after / before for before, after in zip(*self.times, strict=True)]
        lines = {
            "kernels": f"{self.kernels[0]}, guarded {self.kernels[1]}",
            "moved": f"{self.bytes[0] / 1e6:.2f} MB, {self.bytes[1] / self.bytes[0] - 1:+.1%}",
            "median of a step": f"{1e6 * plain:.1f} us, {guarded / plain - 1:+.1%}",
            "median of the ratios of pairs": f"{statistics.median(pairs) - 1:+.1%}",
            "shortest step": f"{1e6 * min(self.times[0]):.1f} us, "
            f"{min(self.times[1]) / min(self.times[0]) - 1:+.1%}",
        }
        return "\n".join(f"{name:>30}  {text}" for name, text in lines.items())


def measure(batch: int, turns: int = TURNS) -> Cost:
    """Of `turns` pairs of steps, each with the one or the other first."""
    images = sg.placeholder(sg.float32, [None, 8, 8, 1])
    labels = sg.placeholder(sg.int64, [None])
    loss = sg.losses.sparse_softmax_cross_entropy(labels, build(images, sg.constant(True)))
    fetches = [loss, sg.train.AdamOptimizer(1e-3).minimize(loss)]
    init = sg.global_variables_initializer()
    rng = np.random.default_rng(0)
    feeds = {images: rng.random((batch, 8, 8, 1), np.float32), labels: rng.integers(0, 10, batch)}
    sessions = [sg.Session(check_nan=guarded) for guarded in (False, True)]
    for sess in sessions:
        sess.run(init)
    plans = [sess.plan(fetches, feeds) for sess in sessions]
    steps = [sess.make_callable(fetches, list(feeds)) for sess in sessions]
    for _ in range(WARM):
        for step in steps:
            step(*feeds.values())
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns):
        for number in (turn % 2, 1 - turn % 2):
            times[number].append(_seconds(steps[number], feeds.values()))
    plain, guarded = plans
    return Cost((len(plain.kernels), len(guarded.kernels)), (plain.bytes, guarded.bytes), times)


def _seconds(step: Callable[..., Any], values: Any) -> float:
    begun = time.perf_counter()
    step(*values)
    return time.perf_counter() - begun


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="threads that work on a step (default 1)")
    parser.add_argument("--batch", type=int, default=50, help="digits of a step (default 50)")
    arguments = parser.parse_args()
    sg.set_num_threads(arguments.threads)
    print(measure(arguments.batch))
