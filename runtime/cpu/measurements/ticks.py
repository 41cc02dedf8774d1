"""The processor's counter, and what it means in nanoseconds of the wall clock."""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable

from staticgraph.compiler.codegen.llvm.clock import clock_code, clock_of
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cpu.jit import Library, host, load

_LONG_ENOUGH = 20_000_000  # ns between two looks at both clocks: the rate is good to a few parts in 10,000


@dataclass(frozen=True, slots=True)
class Moment:
    """Both clocks at one moment."""

    ticks: int
    nanoseconds: int  # since 1970

    @staticmethod
    def now() -> Moment:
        """The closest of some looks."""
        looks = []
        for _ in range(5):
            before = time.time_ns()
            ticks = _counter()()
            looks.append((time.time_ns() - before, ticks, before))
        width, ticks, before = min(looks)
        return Moment(ticks, before + width // 2)


@dataclass(frozen=True, slots=True)
class Scale:
    """The counter as a clock: `rate` ticks per nanosecond."""

    start: Moment
    rate: float

    @staticmethod
    def since(start: Moment) -> Scale:
        """The scale between a moment and now; waits a little where that is not long ago."""
        now = Moment.now()
        while now.nanoseconds - start.nanoseconds < _LONG_ENOUGH:
            now = Moment.now()
        return Scale(start, (now.ticks - start.ticks) / (now.nanoseconds - start.nanoseconds))

    def duration(self, ticks: float) -> float:
        """Nanoseconds."""
        return ticks / self.rate

    def time(self, ticks: int) -> int:
        """Nanoseconds since 1970, of which a float would not hold the last digits."""
        return self.start.nanoseconds + round((ticks - self.start.ticks) / self.rate)


@functools.cache
def _library() -> tuple[Library, str]:
    code = clock_code(clock_of(host().triple))
    return load([code]), code.name


@functools.cache
def _counter() -> Callable[[], int]:
    library, name = _library()
    return ctypes.CFUNCTYPE(ctypes.c_int64)(library[name])
