"""From what the user asks to see to a picture: which operations, at which stage."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from staticgraph.compiler.graph.errors import FetchError, misuse
from staticgraph.compiler.graph.graph import Graph, get_default_graph
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.stages import NAMES
from staticgraph.compiler.support.lazy_names import EXTENSIONS
from staticgraph.draw.fold import OPENED, OPENED_IN_A_STEP, fold
from staticgraph.draw.model import Drawing
from staticgraph.draw.outline import outlined
from staticgraph.draw.picture import ENGINES, Picture
from staticgraph.draw.recorded import recorded
from staticgraph.draw.wording import refused, shorten
from staticgraph.runtime.fetches import Fetches

_FORMS = ("Function", "Fusion")
# As it was built, after all passes, in kernels; and after each stage that makes what can be drawn.
STAGES = ("user", "optimized", "fused", *(stage.name for stage in NAMES.values() if stage.makes in _FORMS))


def draw(
    what: Any,
    path: str | os.PathLike[str] | None,
    stage: str,
    session: Any,
    feeds: Mapping[Any, Any] | None,
    depth: int | None,
    max_nodes: int | None,
    title: str | None,
    legend: bool,
    opened: Collection[str] = (),
    engine: str = "layered",
) -> Picture:
    """See `visualize`."""
    if engine not in ENGINES:
        raise refused(f"there is no engine {engine!r}", f"engine is one of {', '.join(map(repr, ENGINES))}")
    if stage not in STAGES:
        from staticgraph.compiler.support.nearest import nearest_name  # of misspelt names alone

        meant = f"did you mean {close!r}? It" if (close := nearest_name(stage, STAGES)) else "stage"
        raise refused(f"there is no stage {stage!r}", f"{meant} is one of {', '.join(map(repr, STAGES))}")
    if max_nodes is not None and max_nodes < 1:
        raise refused(f"max_nodes is {max_nodes}", "give at least 1, or None for no limit")
    what, session = fetches_of(what, session)
    graph = what if isinstance(what, Graph) else graph_of(what)
    found = found_in(graph, what)
    if stage == "user":
        drawing = _recorded(graph, what is graph, found)
        if max_nodes is not None:
            drawing = outlined(drawing, opened)
    else:
        if what is graph:
            raise refused(
                f"stage {stage!r} shows what one run computes, and a whole graph was given",
                "pass what you would fetch: visualize([loss, train_step], ...)",
            )
        from staticgraph.draw.sample import drawn_stage  # the user's graph needs no compiler

        drawing = drawn_stage(graph, found, stage, feeds or {}, session)
        if max_nodes is not None:
            from staticgraph.draw.outline.training import outlined_step

            drawing = outlined_step(drawing, graph, opened)
    drawing = _titled(drawing, title if title is not None else title_of(stage, what is graph, found))
    folded = fold(drawing, max_nodes, depth, OPENED if stage == "user" else OPENED_IN_A_STEP)
    picture = Picture(folded, legend, engine)
    if path is not None:
        picture.save(path)
    return picture


def fetches_of(what: Any, session: Any) -> tuple[Any, Any]:
    """Return what a model or a file computes, and the session that has its values.

    Args:
        what: A model of Keras, a graph that was loaded, or the path of a file; or anything that is drawn as
            it is.
        session: The session that is used otherwise.
    """
    if isinstance(what, os.PathLike) or (isinstance(what, str) and os.path.exists(what)):
        found = list(EXTENSIONS["functions_of"](os.fspath(what)))
        return [each.fetches for each in found], session or next((each.session for each in found), None)
    if isinstance(what, Operation | Tensor | Graph):
        return what, session
    if (signatures := getattr(what, "signatures", None)) is not None:
        own = getattr(what, "session", None)
        functions = signatures.values()
        return [[f.outputs, *([] if f.step is None else [f.step])] for f in functions], session or own
    outputs = getattr(what, "outputs", None)
    return (what if outputs is None else outputs), session


def found_in(graph: Graph, what: Any) -> Fetches:
    """Return the fetches of a drawing, none for a whole graph. FetchError if there is nothing to draw."""
    if what is graph:
        return Fetches(graph, [])
    found = Fetches(graph, what)
    if not found.tensors and not found.targets:
        raise misuse(FetchError, "visualize: nothing to draw", "pass tensors or operations")
    return found


def graph_of(what: Any) -> Graph:
    """The graph of the first thing in a nested structure that belongs to one."""
    stack = [what]
    while stack:
        item = stack.pop()
        if isinstance(item, Mapping):
            stack += reversed(list(item.values()))
        elif isinstance(item, list | tuple):
            stack += reversed(item)
        elif isinstance(found := getattr(item, "graph", None), Graph):
            return found
    return get_default_graph()


def _recorded(graph: Graph, whole: bool, found: Fetches) -> Drawing:
    fetched = [*(t.op for t in found.tensors), *found.targets]
    return recorded(graph, None if whole else fetched, fetched)


def _titled(drawing: Drawing, title: str) -> Drawing:
    return Drawing(drawing.boxes, drawing.links, title, drawing.regions, drawing.notes)


def title_of(stage: str, whole: bool, found: Fetches) -> str:
    """Return the title of a drawing: the names of its fetches, or "graph" for a whole graph."""
    if whole:
        return "graph"
    elements: list[Tensor | Operation] = [*found.tensors, *found.targets]
    names = [shorten(getattr(e, "op", e).name, 40) for e in elements]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return shown if stage == "user" else f"{shown}: {stage}"
