"""Passes and rules that change what a step means, which NumPy tells."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np

from staticgraph.compiler.graph.function import Function, Value, toposort
from staticgraph.compiler.graph.provenance import Provenance
from staticgraph.compiler.passes.pipeline import pipeline
from staticgraph.compiler.rewrite import Rule
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.runtime.debug.compare import Difference, Tolerance, compared
from staticgraph.runtime.interpreter import Interpreter

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True, slots=True)
class WrongPass:
    """A pass that changes what a step means, and the first of its rules that does, if it was one."""

    name: str
    result: str
    difference: Difference
    rule: Rule | None = None
    where: Provenance | None = None


def wrong_pass(
    function: Function, names: Sequence[str], arguments: Arrays, without: Set[str], tolerance: Tolerance
) -> WrongPass | None:
    """The first pass whose result means something else than what it was given. `names`: of the results."""
    quiet = Interpreter(effects=False)
    stages: list[tuple[str, Function, Function]] = []
    rules = _Rules(function, arguments, tolerance)
    pipeline(without, rules.applied)(function, (lambda *seen: stages.append(seen),))
    expected = quiet.results(function, arguments)
    for name, before, after in stages:
        if after.results == before.results:
            continue
        made = quiet.results(after, arguments)
        differences = compared(before, arguments, expected, made, tolerance)
        differences = [d for d in differences if np.isfinite(d.expected)]  # rules may save what overflows
        if differences:
            worst = differences[0]
            rule, where = rules.first_wrong() or (None, None)
            return WrongPass(name, names[worst.output], worst, rule, where)
        expected = made
    return None


class _Rules:
    """The rules that were applied to a Function, and what they did to its values."""

    def __init__(self, function: Function, arguments: Arrays, tolerance: Tolerance) -> None:
        self._applied: list[tuple[Rule, Value, Value]] = []
        self._values: dict[Value, np.ndarray] = dict(zip(function.params, arguments, strict=True))
        self._tolerance = tolerance
        self._rng = np.random.default_rng(0)

    def applied(self, rule: Rule, before: Value, after: Value) -> None:
        """Remember a rule, which made `after` of `before`."""
        self._applied.append((rule, before, after))

    def first_wrong(self) -> tuple[Rule, Provenance | None] | None:
        """The first rule that changed a value, and the user's line."""
        for rule, before, after in self._applied:
            expected, found = self._value(before), self._value(after)
            params = [v for v in self._values if v.node.op.name == "parameter"]
            function = Function(tuple(params), (before,))
            arguments = [self._values[v] for v in params]
            found_ones = compared(function, arguments, [expected], [found], self._tolerance)
            if any(np.isfinite(d.expected) for d in found_ones):
                return rule, before.node.where
        return None

    def _value(self, value: Value) -> np.ndarray:
        """The value for the arguments. Rules hold for all numbers: inside of a loop, for random ones."""
        quiet = Interpreter(effects=False)
        for node in toposort([value]):
            if all(v in self._values for v in node.outputs):
                continue
            if node.op.name == "parameter":
                made: Sequence[np.ndarray] = [self._random(v) for v in node.outputs]
            else:
                made = quiet.perform(node, tuple(self._values[v] for v in node.inputs))
            self._values.update(zip(node.outputs, made, strict=True))
        return self._values[value]

    def _random(self, value: Value) -> np.ndarray:
        if value.dtype.is_floating or value.dtype.is_complex:
            return value.dtype.round(self._rng.standard_normal(value.shape))
        return self._rng.integers(0, 2, value.shape).astype(value.dtype.numpy)
