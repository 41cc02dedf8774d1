"""Model of a training step for many workers, from times measured here with a few.

    python tools/scale_model.py                      5 million parameters, 2, 4 and 8 processes
    python tools/scale_model.py --parameters 1e8 --compute 0.2 --workers 16 64 256

It measures all-reduces of several sizes with 2, 4 and 8 processes, fits a latency and a bandwidth to those
that have a core each, and tells how far each is from that: 15 % at most, or the model is not to be believed.
Then it prints the step for 16 to 4,096 workers:

    step = compute + max(0, exchange - overlap * compute)
    exchange = 2 log2(p) latency + 2 (p - 1) / p bytes / bandwidth

It assumes that each worker has its own processor and the same link as here, that all links work at the same
time, and that an all-reduce is a reduce-scatter and an all-gather by halves. Processes that share cores wait
for each other to be scheduled: their times are printed, and have no part in the fit.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys

import numpy as np

from staticgraph.cli.launch import mpiexec

SIZES = (1 << 10, 1 << 14, 1 << 18, 1 << 22)  # bytes
MEASURED = (2, 4, 8)
WORKERS = (16, 64, 256, 1024, 4096)
_MEASURE = """
import sys, time
import numpy as np
from mpi4py import MPI
comm = MPI.COMM_WORLD
for size in map(int, sys.argv[1:]):
    here, total = np.ones(size // 4, np.float32), np.empty(size // 4, np.float32)
    times = []
    for _ in range(30):
        comm.Barrier()
        start = time.perf_counter()
        comm.Allreduce(here, total)
        times.append(time.perf_counter() - start)
    every = comm.gather(times)
    if comm.rank == 0:
        print(size, np.max(every, axis=0).min())
"""


def measured(workers: int) -> dict[int, float]:
    """The seconds of an all-reduce of each size: the best of 30, of each the time of the slowest process."""
    line = [mpiexec(), "-n", str(workers), sys.executable, "-c", _MEASURE, *map(str, SIZES)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    said = subprocess.run(line, check=True, capture_output=True, text=True, env=environment).stdout
    return {int(size): float(seconds) for size, seconds in (row.split() for row in said.splitlines())}


def terms(workers: int, size: float) -> tuple[float, float]:
    """The factors of latency and of the inverse of bandwidth in an exchange of `size` bytes."""
    return 2 * math.log2(workers), 2 * (workers - 1) / workers * size


def fitted(times: dict[tuple[int, int], float]) -> tuple[float, float]:
    """The latency in seconds, and the seconds of a byte, that differ least from the measured times."""
    rows = [terms(*key) for key in times]
    wanted = np.array([*times.values()])
    scaled = np.array(rows) / wanted[:, None]
    latency, byte = np.linalg.lstsq(scaled, np.ones(len(wanted)), rcond=None)[0]
    return max(latency, 0.0), max(byte, 1e-15)


def exchange(workers: int, size: float, latency: float, byte: float) -> float:
    """The seconds of an all-reduce."""
    a, b = terms(workers, size)
    return a * latency + b * byte


def main() -> int:
    """Measure, fit, and print the model."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--parameters", type=float, default=5e6, help="of 4 bytes")
    parser.add_argument("--compute", type=float, default=0.05, help="seconds of a step by one worker")
    parser.add_argument("--overlap", type=float, default=0.5, help="part of that in which gradients travel")
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)
    options = parser.parse_args()
    times = {(p, size): seconds for p in MEASURED for size, seconds in measured(p).items()}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    alone = {key: seconds for key, seconds in times.items() if key[0] <= cores}
    if not alone:
        print("there is one core: no two processes run at the same time, and nothing can be fitted")
        return 1
    latency, byte = fitted(alone)
    print(f"latency {latency * 1e6:.1f} us, bandwidth {1e-9 / byte:.2f} GB/s, on {cores} cores")
    print(f"{'workers':>8} {'bytes':>9} {'measured':>11} {'model':>11} {'apart':>7}")
    for (workers, size), seconds in times.items():
        model = exchange(workers, size, latency, byte)
        apart = model / seconds - 1
        told = f"{apart:>+7.0%}" if workers <= cores else "share cores"
        print(f"{workers:>8} {size:>9} {seconds * 1e6:>8.0f} us {model * 1e6:>8.0f} us {told}")
    size = 4 * options.parameters
    print(f"{'workers':>8} {'exchange':>11} {'step':>11} {'efficiency':>11}")
    for workers in options.workers:
        sent = exchange(workers, size, latency, byte)
        step = options.compute + max(0.0, sent - options.overlap * options.compute)
        print(f"{workers:>8} {sent * 1e3:>8.1f} ms {step * 1e3:>8.1f} ms {options.compute / step:>11.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
