"""The checks of a step that its feeds alone decide, apart from the step.

On a device with memory of its own the host tests them before it sends anything: no run waits for the result.

    (x, i) -> (gather(x, i), in_range(i))   becomes   (i) -> (in_range(i))   and   (x, i) -> (gather(x, i))
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from staticgraph.compiler import stages
from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.graph.function import Function, Value, toposort
from staticgraph.compiler.graph.opdef import ops, recording
from staticgraph.compiler.passes.trip_count import conjuncts
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Beforehand:
    """Checks of feeds, and what is left of their step.

    Attributes:
        checks: A step without feeds of its own: its params are those of `feeds`, its result one truth value.
        feeds: Which feeds of the step the params are.
        rest: The step without these checks.
    """

    checks: Step
    feeds: tuple[int, ...]
    rest: Step


def beforehand(step: Step) -> Beforehand | None:
    """Return the checks of a checked step that depend on feeds alone; None if there are none."""
    *results, flag = step.function.results
    parts = conjuncts(flag)
    given = set(step.function.params[: len(step.feeds)])
    early = [part for part in parts if _params(part) <= given]
    if not early:
        return None
    late = [part for part in parts if part not in early]
    with recording(flag.recorder):
        first = reduce(ops.logical_and, early)
        left = reduce(ops.logical_and, late) if late else None
    params = tuple(p for p in step.function.params if p in _params(first))
    checks = Step(Function(params, (first,)), (), (), (), (), 1, ())
    kept = results if left is None else [*results, left]
    rest = replace(step, function=step.function.with_results(kept), checked=left is not None)
    stages.report("feed_checks", step.function, rest.function)
    rest = replace(rest, reports=(*rest.reports, ("feed_checks", step.function, rest.function)))
    return Beforehand(checks, tuple(map(step.function.params.index, params)), rest)


def _params(value: Value) -> set[Value]:
    return {v for node in toposort([value]) for v in node.outputs if node.op.name == "parameter"}
