"""Drawing of what a stage of the compiler makes of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from staticgraph.compiler.capture.step import Step
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.fusion.group import Fusion
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.stages import NAMES, observing, unobserved
from staticgraph.draw.compiled import Scopes, fused, optimized, scopes_of
from staticgraph.draw.model import Drawing
from staticgraph.draw.sample import compiled_fetches, sample_step
from staticgraph.draw.wording import refused
from staticgraph.runtime.fetches import Fetches


def drawn_stage(graph: Graph, found: Fetches, stage: str, feeds: Mapping[Any, Any], session: Any) -> Drawing:
    """Draw what a stage of the compiler makes of a run. ValueError if the stage does not run for it."""
    functions: list[Function] = []
    drawings: list[Drawing] = []

    def captured(name: str, before: Any, after: Any) -> None:
        if name == stage and isinstance(after, Function):
            functions.append(after)  # the last one counts: capture begins anew when it learns more

    with observing(captured):
        step, notes = sample_step(graph, found, feeds, session)
    scopes = scopes_of(graph)
    names = [*(t.name for t in compiled_fetches(found)), *step.captured_names]

    def seen(name: str, before: Any, after: Any) -> None:
        if name == stage:
            with unobserved():
                drawings.append(_drawn(step, after, names, scopes))

    if functions:
        drawings.append(_drawn(step, functions[-1], names, scopes))
    elif stage in ("optimized", "fused"):
        fusion = optimize(step.function)
        drawings.append(_drawn(step, fusion if stage == "fused" else fusion.function, names, scopes))
    elif getattr(session, "device", None) is None:
        optimize(step.function, (seen,))
    else:
        from staticgraph.compiler.gpu.compile import compile_gpu  # few programs draw what a GPU runs

        compile_gpu(step, (seen,))
    if not drawings:
        raise refused(f"the stage {stage!r} does not run here", f"it is for: {NAMES[stage].when}")
    drawing = drawings[0]
    return Drawing(drawing.boxes, drawing.links, "", drawing.regions, notes)


def _drawn(step: Step, made: Function | Fusion, names: Sequence[str], scopes: Scopes) -> Drawing:
    if isinstance(made, Function):
        return optimized(step, made, names, scopes)
    return fused(step, made, names, scopes)
