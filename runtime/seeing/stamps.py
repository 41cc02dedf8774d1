"""Programs that take the time: a second version of a step's code, which the first one can be exchanged for.

The kernels are the same, and so are tables and arena: only what calls the kernels reads a counter before and
after. While it is not in use it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from staticgraph.compiler.codegen.llvm_clock import (
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
from staticgraph.runtime.devices import cpu_jit
from staticgraph.runtime.devices.watch import Watch
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.memory import aligned_bytes

_WORD = 8  # bytes


@dataclass(frozen=True, slots=True)
class Stamp:
    """What one entry of a table of times says, in ticks: of an instruction, or of the step for None."""

    instruction: Instruction | None
    total: int
    calls: int
    start: int
    end: int
    thread: int


class Stamps:
    """The timed version of a program. `run` and `stop` exchange it for the plain one and back."""

    def __init__(self, compiled: Compiled, program: Executable) -> None:
        written, times = timed(compiled, clock_of(cpu_jit.host().triple))
        self._plain = program.entry
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
        program.enter(self._timed)

    def stop(self, program: Executable) -> None:
        """Take no time any more."""
        program.enter(self._plain)

    def read(self) -> Iterator[Stamp]:
        """What was measured, of what was called at all."""
        for instruction, words in zip(self._entries, self._words.tolist(), strict=True):
            if words[CALLS]:
                yield Stamp(instruction, *(words[n] for n in (TOTAL, CALLS, START, END, THREAD)))


_MADE: WeakKeyDictionary[Executable, Stamps] = WeakKeyDictionary()


def stamps_of(program: Executable) -> Stamps | None:
    """The timed version of a program, made once. None where it came as machine code."""
    found = _MADE.get(program)
    if found is None and isinstance(program.compiled, Compiled):
        found = _MADE[program] = Stamps(program.compiled, program)
    return found
