"""Where the runtime asks the compiler. Importing it takes as long as all the rest of the runtime, so plans do
so when they have something to compile: a graph from a file may bring its code along.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from staticgraph.compiler.compile import Compiled, compile
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.passes.guard import checked
from staticgraph.compiler.passes.specialise import specialise
from staticgraph.compiler.passes.step import Step
from staticgraph.compiler.rewrite.rule import Rule
from staticgraph.runtime.devices import cpu_jit
from staticgraph.runtime.devices.generated import KEPT
from staticgraph.runtime.switches import Settings

if TYPE_CHECKING:
    from staticgraph.runtime.guard import Guard

__all__ = ["compiled", "guard", "specialise"]


def compiled(step: Step, settings: Settings, what: str) -> Compiled:
    """The step for this processor. `what` names it where it is dumped."""
    target = replace(cpu_jit.host(), fast_math=settings.math == "fast")
    dump = None
    if settings.dump is not None:
        from staticgraph.runtime.dump import Dump  # what few programs ask for

        dump = Dump(settings.dump, what)
    made = compile(
        step, target, () if dump is None else (dump.after_pass,), cpu_jit.begin, settings.memory_limit, KEPT,
        without=settings.passes, trace=_report if "rules" in settings.trace else None,
    )  # fmt: skip
    if dump is not None:
        dump.finish(made)
    return made


def guard(step: Step, graph: Graph) -> Guard:
    """What watches over a step of `graph`, of which its own step is to be compiled."""
    from staticgraph.runtime.guard import Guard  # what few programs ask for

    return Guard(graph, checked(step))


def _report(rule: Rule, before: Value, after: Value) -> None:
    """Say that a rule was applied, and where."""
    where = before.node.where
    place = f", {where.short}" if where is not None else ""
    print(f"rule {rule.name!r}: {before.node.op.name} -> {after.node.op.name}{place}", file=sys.stderr)
