"""The interpreter as a backend: steps are performed node by node, by the NumPy meaning of each op.

Everything else of such a run is as ever: segments, calls of ops in Python, variables, random states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.lower.memory_use import MemoryUse, memory_use
from staticgraph.compiler.lower.program import Constants, Program
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.backend import Programs
from staticgraph.runtime.executable import Checks, Executable, Origins
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.interpreter.interpreter import Interpreter
from staticgraph.runtime.state.memory import BufferPool, empty, from_storage, to_storage
from staticgraph.runtime.state.variables import PendingWrites, VariableStore

# Performs a step that computes these fetches, for values of its params. Returns its results.
Execute = Callable[[Step, Fetches, list[np.ndarray]], list[np.ndarray]]


def perform(step: Step, fetches: Fetches, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Perform a step by NumPy."""
    return Interpreter().results(step.function, arguments)


@dataclass(frozen=True, slots=True)
class _Prepared:
    step: Step
    program: Program  # without instructions

    @property
    def memory(self) -> MemoryUse:
        return memory_use(self.program, len(self.step.feeds), scratch=0)


class InterpretedStep:
    """Implements `Executable`."""

    version = -1
    origins: Origins = (0, 0, 0)

    def __init__(
        self,
        step: Step,
        static: Sequence[tuple[int, bytes]],
        checks: Checks | None,
        fetches: Fetches,
        execute: Execute,
    ) -> None:
        function = step.function
        types = tuple(p.type for p in function.params), tuple(r.type for r in function.results)
        program = Program((), *types, step.fetches, frozenset(), arena=0, constants=Constants(), fullest=())
        self.prepared = self.compiled = _Prepared(step, program)
        self.static = dict(static)
        self.needed = tuple(step.needed)
        self.checks, self._fetches, self._execute = checks, fetches, execute

    def step(
        self, feeds: Sequence[np.ndarray], store: VariableStore, recyclers: Sequence[BufferPool] = ()
    ) -> tuple[list[np.ndarray], PendingWrites]:
        step, layout = self.prepared.step, self.prepared.program
        arguments = [*feeds, *store.arguments(step, layout.arguments[len(feeds) :])]
        given = [from_storage(a, p.dtype) for a, p in zip(arguments, step.function.params, strict=True)]
        made = self._execute(step, self._fetches, given)
        if step.checked and self.checks is not None and not made[-1]:
            self.checks.fail(arguments)
        results = [_stored(array, type) for array, type in zip(made, layout.results, strict=True)]
        return results[: step.fetches], PendingWrites.of(step, step.writes, results[step.fetches :])


class InterpreterBackend:
    """Implements `Backend`. `execute` performs steps, and may look at what they do."""

    name = "interpreter:0"
    pads = False

    def __init__(self, execute: Execute = perform) -> None:
        self._execute = execute

    def store(self) -> VariableStore:
        return VariableStore()

    def pinned(self, array: np.ndarray) -> np.ndarray:
        return array

    def on_host(self, op: Operation) -> bool:
        return False

    def compile(
        self, step: Step, static: Sequence[tuple[int, bytes]], checks: Checks | None, fetches: Fetches
    ) -> InterpretedStep:
        return InterpretedStep(step, static, checks, fetches, self._execute)

    compile_open = None

    def fast_path(self, programs: Programs, order: Sequence[int], store: VariableStore) -> NoFastPath:
        return NoFastPath()

    def meter(self) -> NoMeter:
        return NoMeter()


class NoFastPath:
    """Implements `FastPath`: all runs take the slow one."""

    def function(self, otherwise: Callable[..., Any]) -> Callable[..., Any]:
        return otherwise

    def __call__(self, *values: Any) -> Any:
        return NotImplemented

    def add(self, program: Executable) -> None:
        """Do nothing."""


class NoMeter:
    """Implements `Meter`: no step is timed."""

    device = InterpreterBackend.name

    def timed(self, program: Executable) -> None:
        return None

    def limits(self) -> NoReturn:
        raise misuse(UnimplementedError, "the interpreter has no peak rates")


def _stored(array: np.ndarray, type: TensorType) -> np.ndarray:
    """Return a value as compiled code holds it, in memory of its own."""
    place = empty(type)
    place[...] = to_storage(array, type.dtype)
    return place
