"""The interpreter: Functions performed node by node, by the NumPy meaning of each op; and it as a backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.errors import UnimplementedError, misuse
from staticgraph.compiler.graph.function import Function, Node, Value, as_outputs
from staticgraph.compiler.graph.interpret import failure
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.graph.tensor import Operation
from staticgraph.compiler.lower.buffer_assignment import MemoryUse, memory_use
from staticgraph.compiler.lower.program import Constants, Program
from staticgraph.compiler.ops.control.control_flow import functions, taken
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.backend import Programs
from staticgraph.runtime.executable import Checks, Executable, Origins
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.state.memory import BufferPool, empty, from_storage, to_storage
from staticgraph.runtime.state.variables import PendingWrites, VariableStore

Rounds = tuple[tuple[Node, int], ...]  # the loops around a node, outermost first, and in which round each is
_SILENT = ("constant", "parameter", "unset")


@dataclass(frozen=True, slots=True)
class Performed:
    """A node that was performed; `outputs` is empty where it failed."""

    node: Node
    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]
    rounds: Rounds = ()


See = Callable[[Performed], None]


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Performs Functions and nodes. `see` is told of each node, also of those in loops and branches; without
    `effects`, assertions and prints are passed over. `nudge` changes what nodes make.
    """

    see: See = lambda done: None
    effects: bool = True
    nudge: Callable[[np.ndarray], np.ndarray] = lambda array: array

    def results(
        self, function: Function, arguments: Sequence[np.ndarray], rounds: Rounds = ()
    ) -> list[np.ndarray]:
        """The results of `function`."""
        values: dict[Value, np.ndarray] = {
            p: p.dtype.round(a) for p, a in zip(function.params, arguments, strict=True)
        }
        for node in function.nodes:
            if not node.outputs or node.outputs[0] not in values:
                made = self.perform(node, tuple(values[v] for v in node.inputs), rounds)
                values.update(zip(node.outputs, made, strict=True))
        return [values[r] for r in function.results]

    def perform(
        self, node: Node, inputs: tuple[np.ndarray, ...], rounds: Rounds = ()
    ) -> tuple[np.ndarray, ...]:
        """Return the outputs of a node for `inputs`."""
        try:
            with np.errstate(all="ignore"):
                made = self._made(node, inputs, rounds)
        except Exception as error:
            self.see(Performed(node, inputs, (), rounds))
            if functions(node.attrs):  # a loop fails because of what is in it
                raise
            raise failure(error, node.op.name, node.where) from error.__cause__
        outputs = tuple(output.dtype.round(array) for output, array in zip(node.outputs, made, strict=True))
        if node.op.name in _SILENT:
            return outputs
        self.see(Performed(node, inputs, outputs, rounds))
        return tuple(map(self.nudge, outputs))

    def _made(self, node: Node, inputs: tuple[np.ndarray, ...], rounds: Rounds) -> Sequence[np.ndarray]:
        match node.op.name:
            case "loop":
                return self._after_rounds(node, inputs, rounds)
            case "branch":
                return self.results(taken(node.attrs["branches"], int(inputs[0])), inputs[1:], rounds)
            case "effect" if not self.effects:
                return (inputs[0],)
        assert node.op.meaning is not None, node
        return as_outputs(node.op.meaning(*inputs, **node.attrs))

    def _after_rounds(self, node: Node, inputs: Sequence[np.ndarray], rounds: Rounds) -> Sequence[np.ndarray]:
        body, carried = node.attrs["body"], node.attrs["carried"]
        state, captures = [*inputs[: 1 + carried]], inputs[1 + carried :]
        number = 0
        while state[0]:
            number += 1
            state = self.results(body, (*state[1:], *captures), (*rounds, (node, number)))
        return state[1:]


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

    def settle(self, store: VariableStore, interrupted: bool) -> None:
        """Do nothing more: the commit alone changes variables."""

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
