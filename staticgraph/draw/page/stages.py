"""The stages of a graph on its way through the compiler, each as a drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from staticgraph.compiler.compile import compile
from staticgraph.compiler.compiled_step import CompiledStep
from staticgraph.compiler.gpu.compile import compile_gpu
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.stages import NAMES, observing, unchanged
from staticgraph.compiler.support.dataclass import dataclass
from staticgraph.draw.compiled import fused, optimized, scopes_of
from staticgraph.draw.model import Drawing
from staticgraph.draw.recorded import recorded
from staticgraph.draw.sample import compiled_fetches, sample_step
from staticgraph.runtime.cpu.jit import host
from staticgraph.runtime.fetches import Fetches
from staticgraph.runtime.reports.stage_log import StageLog

_ABOUT = {
    "user": "the graph as it was built",
    "step": "what one run computes, for these shapes: shared expressions are one, constants are folded",
    "fused": "kernels: what is computed in one pass over memory. Choose one to see its code",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """A drawing of the graph at one moment. `about` says what has been done."""

    name: str
    about: str
    drawing: Drawing


@dataclass(frozen=True, slots=True)
class Compilation:
    """The compiled step, and the log of all stages on the way to it."""

    step: CompiledStep
    log: StageLog


def stages_of(
    graph: Graph, fetches: Fetches | None, feeds: Mapping[Any, Any], session: Any
) -> tuple[list[Stage], Compilation | None]:
    """The stages of what `fetches` need, and their compilation; of a whole graph, only the first."""
    if fetches is None:
        return [_stage("user", recorded(graph, None, ()))], None
    log = StageLog()
    ends = [*(t.op for t in fetches.tensors), *fetches.targets]
    with observing(log):
        step, notes = sample_step(graph, fetches, feeds, session)
    scopes = scopes_of(graph)
    names = [*(t.name for t in compiled_fetches(fetches)), *step.captured_names]
    functions = [("step", step.function)]

    def observe(name: str, before: Any, after: Any) -> None:
        if NAMES[name].part == "passes" and not unchanged(before, after):
            functions.append((name, after))

    if getattr(session, "device", None) is None:
        compiled: CompiledStep = compile(step, host(), (observe, log), may_interpret=False)
    else:
        compiled = compile_gpu(step, (observe, log))
    found = [_stage("user", recorded(graph, ends, ends))]
    found += [_stage(name, optimized(step, function, names, scopes), notes) for name, function in functions]
    found.append(_stage("fused", fused(step, compiled.fusion, names, scopes), notes))
    return found, Compilation(compiled, log)


def _stage(name: str, drawing: Drawing, notes: Sequence[str] = ()) -> Stage:
    about = _ABOUT[name] if name in _ABOUT else NAMES[name].about
    return Stage(name, about, replace(drawing, notes=tuple(notes)))
