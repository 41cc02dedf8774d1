"""One work of one row in a process of its own, in the environment of that peer.

    python -m benchmarks.numerics.worker ROW FILE WORK THREADS

Talks as `benchmarks.worker` does.
"""

from __future__ import annotations

import os
import sys
import time

from benchmarks.worker import AGAIN, WARM_UP, limit, peak, tell, timed, warm


def main() -> None:
    """Serve one parent, who closes our input when there is nothing more to do."""
    row, file, name, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not an answer
    limit(threads)
    import importlib

    from benchmarks.compare import summary
    from benchmarks.numerics.rows import ROWS

    work = importlib.import_module("benchmarks.numerics." + file).WORK[name]
    arrays = work.arrays()
    step, version = ROWS[row](work, arrays, threads)
    start = time.perf_counter()
    result = step()
    made = tuple(result) if isinstance(result, (tuple, list)) else result
    tell(channel, version=version, first=time.perf_counter() - start)
    tell(channel, results=[summary(made)], estimate=warm(step, WARM_UP), peak=peak())
    for line in sys.stdin:
        steps, repeats = map(int, line.split())
        warm(step, AGAIN)
        tell(channel, times=[timed(step, repeats) for _ in range(steps)], peak=peak())
    os._exit(0)  # how long a library takes to clean up is not of interest


if __name__ == "__main__":
    main()
