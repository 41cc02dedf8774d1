"""Calmness of the machine: on a shared one, neighbours take part of it away for a while.

A visit of a row counts when all threads together came near the limits of the machine right before and right
after it, and a thread saw soon what another one had written: a virtual machine's processors may be moved to
cores that have no cache in common, where this takes several times as long. Otherwise the visit is made again,
a few times, and the least disturbed one counts. What the machine did around a visit is also the measure for
its times: the clock of a shared machine goes up and down within minutes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from benchmarks import floors

ENOUGH = 0.7  # of all; clocks that go down under load are no disturbance, a processor that is away is
FAR = 2.0  # times as long from one thread to another: they are not on cores next to each other
_MULTIPLY_ADDS, _PASSES = 6_000_000, 256  # of two of the probes: about 10 ms each
_TURNS, _LOOKS = 5_000, 5  # of the third: whose turn it is changes its pace, so the best of a few counts
_PATIENCE, _PAUSE = 2.0, 0.05  # seconds to wait for the machine, and between two looks at it
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Visit:
    """Seconds of each step, and what the machine did before or after them, whichever was more."""

    times: Sequence[float]
    limits: floors.Machine


class Watch:
    """Looks at what all threads together reach, as a part of `limits`; counts visits, and those repeated.

    Where a look finds more than the limits, these are raised.
    """

    def __init__(self, threads: int, limits: floors.Machine) -> None:
        self._threads, self.limits = threads, limits
        self._width, self._code = floors.compiled()
        self._pool = ThreadPoolExecutor(threads)
        self.visits = self.again = 0

    def look(self) -> floors.Machine:
        """Return the present state; memory and the rest as in the limits."""
        flops = floors.multiply_adds(self._width, self._code, _MULTIPLY_ADDS, self._threads, self._once)
        cache = floors.triad(self._code.triad, floors.CACHE, _PASSES, self._threads, self._once)
        turns = [floors.hand_over(self._code, _TURNS, self._threads, self._once) for _ in range(_LOOKS)]
        now = replace(self.limits, flops=flops, cache=cache, hand_over=min(turns))
        self.limits = self.limits.best(now)
        return now

    def share(self, now: floors.Machine) -> float:
        """The part that was there at a look: of the multiply-adds or of the last cache, whichever is less.
        Threads that are far from each other count as ENOUGH, and less the farther they are.
        """
        shares = [now.flops / self.limits.flops, now.cache / self.limits.cache]
        if now.hand_over:
            shares.append(ENOUGH * FAR * self.limits.hand_over / now.hand_over)
        return min(shares)

    def _once(self, work: Callable[[int], None]) -> float:
        """Seconds until all threads have done their part."""
        start = time.perf_counter()
        list(self._pool.map(work, range(self._threads)))
        return time.perf_counter() - start

    def _before(self) -> floors.Machine:
        """Wait for the machine, but not for long; what is there then."""
        end = time.monotonic() + _PATIENCE
        while self.share(now := self.look()) < ENOUGH and time.monotonic() < end:
            time.sleep(_PAUSE)
        return now

    def calmest(self, visit: Callable[[], Sequence[float]]) -> Visit:
        """A visit that was not disturbed, or the least disturbed of a few.

        Raises what `visit` raises.
        """
        self.visits += 1
        seen: list[tuple[float, Visit]] = []
        while len(seen) < _TRIES and (not seen or seen[-1][0] < ENOUGH):
            self.again += bool(seen)
            before, times, after = self._before(), visit(), self.look()
            share = min(map(self.share, (before, after)))
            seen.append((share, Visit(times, before.best(after))))
        return max(seen, key=lambda one: one[0])[1]
