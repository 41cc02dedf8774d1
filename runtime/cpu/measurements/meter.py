"""Meter of the CPU: a second version of a step that takes the time, which the first one can be exchanged for.

Its kernels are the same, and so are tables and arena: only what calls the kernels reads a counter before and
after. While it is not in use it costs nothing.

The processor's counter is compared with the wall clock, which tells its ticks in nanoseconds.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from staticgraph.compiler.codegen.llvm.clock import (
    CALLS,
    END,
    ENTRY_WORDS,
    START,
    THREAD,
    TOTAL,
    clock_code,
    clock_of,
)
from staticgraph.compiler.compile import Compiled, timed
from staticgraph.compiler.lower.program import Begin, Complete, HostCall, Instruction
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.executable import CpuExecutable
from staticgraph.runtime.cpu.jit import Library, host, load
from staticgraph.runtime.cpu.measurements.limits import limits
from staticgraph.runtime.cpu.threads import get_num_threads
from staticgraph.runtime.cpu.watch import Watch
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.profiling.times import Limits, Stamp, Timed, Times
from staticgraph.runtime.state.memory import aligned_bytes

_WORD = 8  # bytes


class Stamps:
    """The timed version of a program for the processor: `compiled`, whose code is that of `opened`."""

    def __init__(self, opened: Compiled, compiled: Compiled, program: CpuExecutable) -> None:
        # Its code is that of the program with open sizes: known ones would be scheduled in another way.
        written, times = timed(opened, clock_of(cpu_jit.host().triple))
        both = zip(opened.walk(), compiled.walk(), strict=True)
        known = {id(mine): its for (mine, *_), (its, *_) in both}
        self._plain = program.entry
        self._start, self._calls = Moment(0, 0), 0
        self._parallel = program.parallel
        self._entries = [_closed(each, known) for each in times.entries]
        self._library = cpu_jit.load(written.codes)
        self._timed = self._library[written.entry.name]
        self._memory = aligned_bytes(len(times.entries) * ENTRY_WORDS * _WORD)
        self._words = self._memory.view(np.int64).reshape(len(times.entries), ENTRY_WORDS)
        self._watch = program.watch or Watch()
        if program.watch is None:
            program.table[compiled.program.watch_slot] = self._watch.address
        self._watch.time_into(self._memory.ctypes.data)

    def run(self, program: Executable) -> None:
        """Begin to take the time, from zero."""
        assert isinstance(program, CpuExecutable)
        self._words[:] = 0
        self._start, self._calls = Moment.now(), program.calls
        program.enter(self._timed)

    def stop(self, program: Executable) -> None:
        """Take no time any more."""
        assert isinstance(program, CpuExecutable)
        program.enter(self._plain)

    def read(self, program: Executable) -> Times | None:
        """Return the measured times; None if the program did not run."""
        assert isinstance(program, CpuExecutable)
        runs = program.calls - self._calls
        if not runs:
            return None
        scale = Scale.since(self._start)
        stamps = [
            Stamp(
                instruction,
                scale.duration(words[TOTAL]),
                words[CALLS],
                scale.time(words[START]),
                scale.time(words[END]),
                words[THREAD],
            )
            for instruction, words in zip(self._entries, self._words.tolist(), strict=True)
            if words[CALLS]
        ]
        return Times(runs, stamps, get_num_threads() if self._parallel else 1)


def _closed(entry: Any, known: Mapping[int, Instruction]) -> Any:
    """Return what an entry of a table of times is of, in the program whose instructions are `known`."""
    if isinstance(entry, Complete):
        call = known.get(id(entry.begin.call), entry.begin.call)
        assert isinstance(call, HostCall), call
        return Complete(Begin(call, entry.begin.number))
    return known.get(id(entry), entry)


class CpuMeter:
    """Measures what the processor does: rates and limits are those of a core."""

    device = "CPU:0"

    def timed(self, program: Executable) -> Timed | None:
        """The timed version of a program, made once."""
        assert isinstance(program, CpuExecutable)
        found = _MADE.get(program)
        if found is not None:
            return found
        opened, compiled = program.opened, program.compiled
        if isinstance(opened, Compiled) and isinstance(compiled, Compiled):
            found = _MADE[program] = Stamps(opened, compiled, program)
        return found

    def limits(self) -> Limits:
        """Return the peak rates of a core of this machine."""
        return limits()


_MADE: WeakKeyDictionary[CpuExecutable, Stamps] = WeakKeyDictionary()


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
