"""Whether the machine does what it can: on a shared one, neighbours take part of it away for a while.

A visit of a row counts when all threads together came near the limits of the machine right before and right
after it, and a thread saw soon what another one had written: a virtual machine's processors may be moved to
cores that have no cache in common, where this takes several times as long. Otherwise the visit is made again,
a few times, and the least disturbed one counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks import floors

ENOUGH = 0.7  # of all; clocks that go down under load are no disturbance, a processor that is away is
FAR = 2.0  # times as long from one thread to another: they are not on cores next to each other
_MULTIPLY_ADDS, _PASSES = 6_000_000, 256  # of two of the probes: about 10 ms each
_TURNS, _LOOKS = 5_000, 5  # of the third: whose turn it is changes its pace, so the best of a few counts
_PATIENCE, _PAUSE = 2.0, 0.05  # seconds to wait for the machine, and between two looks at it
_TRIES = 3


class Watch:
    """Looks at what all threads together reach, as a part of `limits`; counts visits, and those repeated."""

    def __init__(self, threads: int, limits: floors.Machine) -> None:
        self._threads, self._limits = threads, limits
        self._width, self._code = floors.compiled()
        self._pool = ThreadPoolExecutor(threads)
        self.visits = self.again = 0

    def share(self) -> float:
        """The part that is there now: of the multiply-adds or of the last cache, whichever is less. Threads
        that are far from each other count as ENOUGH, and less the farther they are.
        """
        flops = floors.multiply_adds(self._width, self._code, _MULTIPLY_ADDS, self._threads, self._once)
        cache = floors.triad(self._code.triad, floors.CACHE, _PASSES, self._threads, self._once)
        shares = [flops / self._limits.flops, cache / self._limits.cache]
        if self._limits.hand_over:
            looks = (floors.hand_over(self._code, _TURNS, self._threads, self._once) for _ in range(_LOOKS))
            shares.append(ENOUGH * FAR * self._limits.hand_over / min(looks))
        return min(shares)

    def _once(self, work: Callable[[int], None]) -> float:
        """Seconds until all threads have done their part."""
        start = time.perf_counter()
        list(self._pool.map(work, range(self._threads)))
        return time.perf_counter() - start

    def _before(self) -> float:
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
            before, times = self._before(), visit()
            seen.append((min(before, self.share()), times))
        return max(seen, key=lambda one: one[0])[1]
