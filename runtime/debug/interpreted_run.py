"""Runs whose steps are interpreted: node by node, by the NumPy meaning of each op, in place of machine code.

Everything else of such a run is as ever: stages, calls of ops in Python, variables, random states. What looks
on is told of each node with what it was given and what it made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.lower.constants import Constants
from staticgraph.compiler.lower.program import Program
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.compile_log import CompileLog
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.memory.aligned import from_storage, to_storage
from staticgraph.runtime.reports.recompile_reason import Reason
from staticgraph.runtime.switches.table import Settings

if TYPE_CHECKING:
    from staticgraph.runtime.failures.checked_step import CheckedStep

# Does a step that computes some fetches, for values of its params; gives its results.
Execute = Callable[[Step, Fetches, list[np.ndarray]], list[np.ndarray]]


@dataclass(frozen=True, slots=True)
class _Laid:
    """The parts of a compiled step that callers use besides its code."""

    step: Step
    program: Program


class Interpreted(Executable):
    """A step that `execute` does, where a session has its machine code."""

    def __init__(
        self,
        step: Step,
        fetches: Fetches,
        static: Iterable[tuple[int, bytes]],
        execute: Execute,
        guard: CheckedStep | None = None,
    ) -> None:
        function = step.function
        types = tuple(p.type for p in function.params), tuple(r.type for r in function.results)
        program = Program((), *types, step.fetches, frozenset(), arena=0, constants=Constants(), fullest=())
        self.prepared = self.compiled = _Laid(step, program)  # type: ignore[assignment]
        self.guard = guard
        self.static = dict(static)
        self.needed = tuple(step.needed)
        self._fetches = fetches
        self._execute = execute

    def __call__(self, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> bool:
        """Do the step: read `arguments`, write `results`. Return False if a check of the step failed."""
        step = self.compiled.step
        params = step.function.params
        given = [from_storage(a, p.dtype) for a, p in zip(arguments, params, strict=True)]
        made = self._execute(step, self._fetches, given)
        for place, value, array in zip(results, step.function.results, made, strict=True):
            place[...] = to_storage(array, value.dtype)
        return not step.checked or bool(made[-1])

    @property
    def calls(self) -> int:
        """None: there is no machine code that could be called without Python."""
        return 0


class InterpretingLog(CompileLog):
    """Gives programs that `execute` does, instead of compiling any."""

    def __init__(self, execute: Execute, settings: Settings | None = None) -> None:
        super().__init__(settings)
        self._execute = execute

    def program(
        self,
        step: Step,
        statics: Iterable[tuple[int, bytes]],
        fetches: Fetches,
        reason: Reason,
        begun: tuple[int, float],
    ) -> Executable:
        """A program that is interpreted: no compile to tell of."""
        return self.guarded(step, statics, fetches)

    def executable(
        self, step: Step, statics: Iterable[tuple[int, bytes]], fetches: Fetches, guard: CheckedStep | None
    ) -> Executable:
        """A step that is interpreted."""
        return Interpreted(step, fetches, statics, self._execute, guard)
