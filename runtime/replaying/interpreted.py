"""Runs whose steps are interpreted: node by node, by the NumPy meaning of each op, in place of machine code.

Everything else of such a run is as ever: stages, calls of ops in Python, variables, random states. What looks
on is told of each node with what it was given and what it made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from staticgraph.compiler.dataclass import dataclass
from staticgraph.compiler.graph.function import Function, Node, Value, as_outputs
from staticgraph.compiler.graph.interpret import failure
from staticgraph.compiler.lower.constants import Constants
from staticgraph.compiler.lower.program import Program
from staticgraph.compiler.ops.control_flow import functions, taken
from staticgraph.compiler.passes.step import Step
from staticgraph.runtime.cause import Reason
from staticgraph.runtime.executable import Executable
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.guard import Guard
from staticgraph.runtime.ledger import Ledger
from staticgraph.runtime.memory import from_storage, to_storage
from staticgraph.runtime.switches import Settings

Rounds = tuple[tuple[Node, int], ...]  # the loops around a node, outermost first, and in which round each is
# Does a step that computes some fetches, for values of its params; gives its results.
Execute = Callable[[Step, Fetches, list[np.ndarray]], list[np.ndarray]]
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
        """What a node makes of `inputs`."""
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
        assert node.op.reference is not None, node
        return as_outputs(node.op.reference(*inputs, **node.attrs))

    def _after_rounds(self, node: Node, inputs: Sequence[np.ndarray], rounds: Rounds) -> Sequence[np.ndarray]:
        body, carried = node.attrs["body"], node.attrs["carried"]
        state, captures = [*inputs[: 1 + carried]], inputs[1 + carried :]
        number = 0
        while state[0]:
            number += 1
            state = self.results(body, (*state[1:], *captures), (*rounds, (node, number)))
        return state[1:]


@dataclass(frozen=True, slots=True)
class _Laid:
    """What is asked of a compiled step besides its code."""

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
        guard: Guard | None = None,
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

    def __call__(self, arguments: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        """Do the step: read `arguments`, write `results`."""
        step = self.compiled.step
        params = step.function.params
        given = [from_storage(a, p.dtype) for a, p in zip(arguments, params, strict=True)]
        made = self._execute(step, self._fetches, given)
        for place, value, array in zip(results, step.function.results, made, strict=True):
            place[...] = to_storage(array, value.dtype)

    @property
    def calls(self) -> int:
        """None: there is no machine code that could be called without Python."""
        return 0


class InterpretingLedger(Ledger):
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
        self, step: Step, statics: Iterable[tuple[int, bytes]], fetches: Fetches, guard: Guard | None
    ) -> Executable:
        """A step that is interpreted."""
        return Interpreted(step, fetches, statics, self._execute, guard)
