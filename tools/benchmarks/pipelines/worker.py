"""One pipeline of one row in a process of its own, in the environment of that peer.

    python -m benchmarks.pipelines.worker ROW WORK THREADS

Talks as `benchmarks.worker` does, but tells CPU seconds of all threads: pipelines compute ahead, and what
they cost is taken from the training beside them.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from typing import Any

from benchmarks.worker import begin, end, peak, tell

CHECKED = 3  # batches that are compared
LIBRARIES = {"TensorFlow 1": "tensorflow"}


def main() -> None:
    """Serve one parent, who closes our input when there is nothing more to do."""
    row, name, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    channel = begin(threads)
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    tf = importlib.import_module(LIBRARIES.get(row, "staticgraph.compat.tf1"))
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        step = step_of(tf, name, folder)
        results = [summary(step()) for _ in range(CHECKED)]
        tell(channel, version=f"{row} {tf.__version__}", first=time.perf_counter() - start)
        queues = name.startswith("queue")  # the batches depend on how soon threads are
        if queues:
            results = [[[float(len(batch))] for batch in results]]
        tell(channel, results=results, estimate=cpu_seconds(step, 20), peak=peak())
        for line in sys.stdin:
            steps, repeats = map(int, line.split())
            tell(channel, times=[cpu_seconds(step, repeats) for _ in range(steps)], peak=peak())
    end()


def step_of(tf: Any, name: str, folder: str) -> Callable[[], Any]:
    """The function that takes the next batch of a pipeline."""
    from benchmarks.pipelines.works import WORKS

    tf.set_random_seed(1)
    element = WORKS[name](tf, folder)
    session = tf.Session()
    tf.train.start_queue_runners(session, tf.train.Coordinator())
    return lambda: session.run(element)


def cpu_seconds(step: Callable[[], Any], repeats: int) -> float:
    """CPU seconds per step, of all threads."""
    start = time.process_time()
    for _ in range(repeats):
        step()
    return (time.process_time() - start) / repeats


def summary(made: Any) -> list[list[float]]:
    """The numbers for one batch, as those of `benchmarks.compare`; a checksum for strings."""
    import numpy as np

    if isinstance(made, dict):
        return [numbers for key in sorted(made) for numbers in summary(made[key])]
    if isinstance(made, (list, tuple)):
        return [numbers for part in made for numbers in summary(part)]
    flat = np.ravel(made)
    if flat.dtype == object:
        return [[float(zlib.crc32(b"\0".join(flat.tolist())))]]
    flat = flat.astype(np.float64)
    return [[float(n) for n in (flat.mean(), np.abs(flat).mean(), flat[0], flat[flat.size // 3], flat[-1])]]


if __name__ == "__main__":
    main()
