"""One work of one row in a process of its own, in the environment of that peer.

    python -m benchmarks.numerics.worker ROW FILE WORK THREADS

Talks as `benchmarks.worker` does.
"""

from __future__ import annotations

import sys
import time

from benchmarks.worker import WARM_UP, begin, end, peak, serve, tell, warm


def main() -> None:
    """Serve one parent, who closes our input when there is nothing more to do."""
    row, file, name, threads = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    channel = begin(threads)
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
    serve(channel, step)
    end()


if __name__ == "__main__":
    main()
