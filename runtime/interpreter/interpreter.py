"""Functions performed node by node, by the NumPy meaning of each op."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from staticgraph.compiler.graph.function import Function, Node, Value, as_outputs
from staticgraph.compiler.graph.interpret import failure
from staticgraph.compiler.ops.control.control_flow import functions, taken
from staticgraph.compiler.support.dataclass import dataclass

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
