"""Programs that take the time: a second version of a step, which the first one can be exchanged for.

On a processor the kernels are the same, and so are tables and arena: only what calls the kernels reads a
counter before and after. While it is not in use it costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from staticgraph.compiler.codegen.llvm.clock import (
    CALLS,
    END,
    ENTRY_WORDS,
    START,
    THREAD,
    TOTAL,
    clock_of,
)
from staticgraph.compiler.compile import Compiled, timed
from staticgraph.compiler.lower.program import Instruction
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.cpu import jit as cpu_jit
from staticgraph.runtime.cpu.threads import get_num_threads
from staticgraph.runtime.cpu.watch import Watch
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.memory.aligned import aligned_bytes
from staticgraph.runtime.profiling.limits import Limits, limits
from staticgraph.runtime.profiling.ticks import Moment, Scale

_WORD = 8  # bytes


@dataclass(frozen=True, slots=True)
class Stamp:
    """Time of an instruction, of the step as a whole (None), or of other named work.

    `total`: nanoseconds of all `calls`. The last call was from `start` to `end`, in nanoseconds since 1970.
    """

    what: Instruction | str | None
    total: float
    calls: int
    start: int
    end: int
    thread: int


@dataclass(frozen=True, slots=True)
class Times:
    """Measured times of some runs, for all that was called in them.

    `threads`: the least number of threads that may have taken part. `note`: a remark to show with these runs.
    """

    runs: int
    stamps: Sequence[Stamp]
    threads: int
    note: str = ""


class Timed(Protocol):
    """The timed version of a program."""

    def run(self, program: Executable) -> None:
        """Begin to take the time, from zero."""

    def stop(self, program: Executable) -> None:
        """Take no time any more."""

    def read(self, program: Executable) -> Times | None:
        """Return the measured times; None if the program did not run."""


class Meter(Protocol):
    """Measures what a device does. `device`: its name."""

    device: str

    def timed(self, program: Executable) -> Timed | None:
        """The timed version of a program; None where it came as machine code."""

    def limits(self) -> Limits:
        """Return the peak rates of the device."""


class Stamps:
    """The timed version of a program for the processor."""

    def __init__(self, compiled: Compiled, program: Executable) -> None:
        written, times = timed(compiled, clock_of(cpu_jit.host().triple))
        self._plain = program.entry
        self._start, self._calls = Moment(0, 0), 0
        self._parallel = compiled.parallel
        self._entries = times.entries
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
        self._words[:] = 0
        self._start, self._calls = Moment.now(), program.calls
        program.enter(self._timed)

    def stop(self, program: Executable) -> None:
        """Take no time any more."""
        program.enter(self._plain)

    def read(self, program: Executable) -> Times | None:
        """Return the measured times; None if the program did not run."""
        runs = program.calls - self._calls
        if not runs:
            return None
        scale = Scale.since(self._start)
        stamps = [
            Stamp(
                instruction, scale.duration(words[TOTAL]), words[CALLS], scale.time(words[START]),
                scale.time(words[END]), words[THREAD],
            )
            for instruction, words in zip(self._entries, self._words.tolist(), strict=True)
            if words[CALLS]
        ]  # fmt: skip
        return Times(runs, stamps, get_num_threads() if self._parallel else 1)


class CoreMeter:
    """Measures what the processor does: rates and limits are those of a core."""

    device = "CPU:0"

    def timed(self, program: Executable) -> Timed | None:
        """The timed version of a program, made once."""
        found = _MADE.get(program)
        if found is None and isinstance(program.compiled, Compiled):
            found = _MADE[program] = Stamps(program.compiled, program)
        return found

    def limits(self) -> Limits:
        """Return the peak rates of a core of this machine."""
        return limits()


_MADE: WeakKeyDictionary[Executable, Stamps] = WeakKeyDictionary()
