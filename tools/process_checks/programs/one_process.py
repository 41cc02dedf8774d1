"""The distributed optimizer in one process against the inner one. Usage: one_process.py ROUNDS"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import staticgraph as sg

EACH = 200  # steps of a round, by each optimizer


def session(wrap: Callable[[Any], Any]) -> tuple[Callable[[], Any], str]:
    """Return a function that takes a step, and the name of the code that it runs."""
    with sg.Graph().as_default():
        sg.set_random_seed(1)
        x, y = sg.placeholder("float32", [None, 64]), sg.placeholder("int32", [None])
        h = sg.layers.dense(x, 128, activation=sg.nn.relu)
        losses = sg.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=sg.layers.dense(h, 10))
        train = wrap(sg.train.AdamOptimizer(1e-3)).minimize(sg.reduce_mean(losses))
        sess = sg.Session()
        sess.run(sg.global_variables_initializer())
        rng = np.random.RandomState(0)
        rows = rng.randn(64, 64).astype(np.float32)
        feed = {x: rows, y: rows[:, :10].argmax(1).astype(np.int32)}
        for _ in range(5):  # the first runs are through Python
            sess.run(train, feed)
        return lambda: sess.run(train, feed), sess.executable(train, feed).prepared.entry.name


def main(rounds: int) -> None:
    """Write the seconds of a step by both, and the median of their quotients by rounds."""
    (plain, one), (wrapped, other) = session(lambda opt: opt), session(sg.distribute.Optimizer)
    times: dict[str, list[float]] = {"plain": [], "wrapped": []}
    for number in range(rounds):
        pairs = [("plain", plain), ("wrapped", wrapped)]
        for name, step in pairs[:: 1 if number % 2 else -1]:
            start = time.process_time()
            for _ in range(EACH):
                step()
            times[name].append((time.process_time() - start) / EACH)
    ratio = statistics.median(b / a for a, b in zip(*times.values(), strict=True))
    told = {name: min(found) for name, found in times.items()} | {"ratio": ratio, "same": one == other}
    os.write(1, f"FOUND {json.dumps(told)}\n".encode())


if __name__ == "__main__":
    main(int(sys.argv[1]))
