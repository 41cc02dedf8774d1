"""One story of one row in a process of its own, in the environment of that peer.

    python -m benchmarks.sizes.worker SIDE ROW STORY THREADS [small | largest]

Answers in lines of JSON: when the last step is done, and when every size has been there once more. `largest`
takes the largest size alone, for the memory that it needs. The peak of memory is without the arrays of the
steps: a program that trains has one batch at a time, not all of them.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Dict, List, Tuple

from benchmarks.worker import begin, end, peak, tell

CHECKED = 3  # steps whose results are compared; later ones differ by what rounding has become


def main() -> None:
    """Run the story, then its sizes once more."""
    side, row, name, threads, how = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]
    channel = begin(threads)
    import importlib

    peer = importlib.import_module("benchmarks.sizes." + side)
    version = peer.setup(row, threads)
    facts, again = run(peer, name, how)
    tell(channel, version=version, **facts)
    tell(channel, **again())
    end()


def run(peer: Any, name: str, how: List[str]) -> Tuple[Dict[str, Any], Callable[[], Dict[str, Any]]]:
    """Run a story; return its times, and a function that runs its sizes once more."""
    import numpy as np

    from benchmarks.sizes.stories import STORIES

    story = STORIES[name]
    net, sizes = (story.small[0](), story.small[1]) if "small" in how else (story.net(), story.sizes)
    if "largest" in how:
        sizes = (max(sizes),) * 3
    rng = np.random.default_rng(1)
    batches = [net.batch(rng, size) for size in sizes]  # the same for every peer
    step = peer.step_of(net)
    times, results = [], []
    for batch in batches:
        start = time.perf_counter()
        results.append(step(*batch))
        times.append(time.perf_counter() - start)
    facts: Dict[str, Any] = {
        "first": times[0],
        "rest": sum(times[1:]),
        "peak": peak() - sum(array.nbytes for batch in batches[1:] for array in batch) / 1e6,
        "results": [np.ravel(result).astype(float).tolist() for result in results[:CHECKED]],
        "programs": peer.programs() if hasattr(peer, "programs") else None,
    }
    new = {size: number for number, size in reversed(list(enumerate(sizes))) if number}

    def again() -> Dict[str, Any]:
        """The cost of a new size: the middle of the differences between its first step and a later one."""
        more = []
        for number in new.values():
            step(*batches[number])
            start = time.perf_counter()
            step(*batches[number])
            more.append(times[number] - (time.perf_counter() - start))
        return {"new_size": float(np.median(more)) if more else None}

    return facts, again


if __name__ == "__main__":
    main()
