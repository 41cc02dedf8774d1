"""Whether the machine does what it can: on a shared one, neighbours take part of it away for a while.

A visit of a row counts when all threads together reached nearly the peak of multiply-adds right before and
right after it. Otherwise it is made again, a few times, and the least disturbed one counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from benchmarks import floors

ENOUGH = 0.8  # of the peak; clocks that go down under load are no disturbance, a processor that is away is
_REPEATS = 400_000  # of the probe: about 10 ms
_PATIENCE, _PAUSE = 5.0, 0.05  # seconds to wait for the machine, and between two looks at it
_TRIES = 3


class Watch:
    """Looks at what all threads together reach, as a part of `flops`. Counts visits, and those made again."""

    def __init__(self, threads: int, flops: float) -> None:
        width, self._code = floors.compiled()
        self._sinks = [np.empty(width, np.float32) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads)
        self._least = 2.0 * width * floors.ACCUMULATORS * _REPEATS * threads / flops  # seconds
        self.visits = self.again = 0

    def share(self) -> float:
        """The part that is there now."""
        calls = [partial(self._code.fma, _REPEATS, sink.ctypes.data) for sink in self._sinks]
        start = time.perf_counter()
        list(self._pool.map(lambda call: call(), calls))
        return self._least / (time.perf_counter() - start)

    def before(self) -> float:
        """Wait for the machine, but not for long; the part that is there then."""
        end = time.monotonic() + _PATIENCE
        while (share := self.share()) < ENOUGH and time.monotonic() < end:
            time.sleep(_PAUSE)
        return share

    def calmest(self, visit: Callable[[], Sequence[float]]) -> Sequence[float]:
        """The times of a visit that was not disturbed, or of the least disturbed of a few.

        Raises what `visit` raises.
        """
        self.visits += 1
        seen: list[tuple[float, Sequence[float]]] = []
        while len(seen) < _TRIES and (not seen or seen[-1][0] < ENOUGH):
            self.again += bool(seen)
            before, times = self.before(), visit()
            seen.append((min(before, self.share()), times))
        return max(seen, key=lambda one: one[0])[1]
