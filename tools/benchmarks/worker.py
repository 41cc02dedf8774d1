"""One workload of one row in a process of its own, in the environment of that peer.

    python -m benchmarks.worker MODULE ROW WORKLOAD THREADS

Talks in lines of JSON: it says when the first step and when the warm-up are done, and then for each line
"STEPS REPEATS" that it reads it answers with that many times of a step, each the mean of so many calls.
"""

from __future__ import annotations

import os
import sys
import time
from typing import IO, Any

POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "SG_THREADS")
WARM_UP, AGAIN = 0.25, 0.05  # seconds before the first times, and before each later batch of times


def limit(threads: int) -> None:
    """Keep this process to as many CPUs, and every pool of threads to as many threads."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for variable in POOLS:
        os.environ[variable] = str(threads)


def peak() -> float:
    """The most memory that this process has had, in MB."""
    try:
        with open("/proc/self/status") as status:  # getrusage would count what the parent had before the fork
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024 / 1e6
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def main() -> None:
    """Serve one parent, who closes our input when there is nothing more to do."""
    module, row, name, threads = *sys.argv[1:4], int(sys.argv[4])
    channel = begin(threads)
    start = time.perf_counter()
    import importlib

    peer = importlib.import_module(f"benchmarks.{module}")
    version = peer.setup(row, threads)
    imported = time.perf_counter()
    from benchmarks.compare import summary
    from benchmarks.workloads import WORKLOADS

    work = WORKLOADS[name]
    data = work.data()
    ready = time.perf_counter()
    step = getattr(peer, work.make.__name__)(data)
    built = time.perf_counter()
    result = step()
    done = time.perf_counter()
    tell(
        channel,
        version=version,
        imported=imported - start,
        built=built - ready,
        first=done - built,
        peak=peak(),
    )
    results = [summary(result)] + [summary(step()) for _ in range(work.checked - 1)]
    del result
    tell(channel, results=results, estimate=warm(step, WARM_UP), peak=peak())
    serve(channel, step)
    if hasattr(peer, "finish"):
        peer.finish()
    end()


def begin(threads: int) -> IO[str]:
    """Limit the threads of libraries, and return the channel to the parent."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not an answer
    limit(threads)
    return channel


def serve(channel: IO[str], step: Any) -> None:
    """Answer each line "STEPS REPEATS" with times of a step, until the parent closes our input."""
    for line in sys.stdin:
        steps, repeats = map(int, line.split())
        warm(step, AGAIN)
        tell(channel, times=[timed(step, repeats) for _ in range(steps)], peak=peak())


def end() -> None:
    """End the process at once: how long a library takes to clean up is not of interest."""
    os._exit(0)


def tell(channel: IO[str], **answer: Any) -> None:
    """Answer the parent."""
    import json

    print(json.dumps(answer), file=channel, flush=True)


def warm(step: Any, seconds: float) -> float:
    """Run for some time; the shortest step."""
    shortest, end = float("inf"), time.perf_counter() + seconds
    while True:
        shortest = min(shortest, timed(step, 1))
        if time.perf_counter() >= end:
            return shortest


def timed(step: Any, repeats: int) -> float:
    """Seconds per step."""
    calls = range(repeats)
    start = time.perf_counter()
    for _ in calls:
        step()
    return (time.perf_counter() - start) / repeats


if __name__ == "__main__":
    main()
