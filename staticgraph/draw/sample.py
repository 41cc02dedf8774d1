"""A step to draw, and the drawing of what a stage of the compiler makes of it.

Compiled stages have static shapes, so sizes that only a feed would tell are assumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from staticgraph.compiler.capture.capture import capture
from staticgraph.compiler.capture.segments import is_host, stages
from staticgraph.compiler.capture.step import (
    Calls,
    CaptureRequest,
    NeedsFeeds,
    NeedsHost,
    NeedsStage,
    NeedsTypes,
    Step,
)
from staticgraph.compiler.compile import optimize
from staticgraph.compiler.fusion.group import Fusion
from staticgraph.compiler.graph.dtypes import string
from staticgraph.compiler.graph.errors import FedShapeError, FeedError, layout
from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import Shape, TensorShape, TensorType, as_shape, compatible, shape_text
from staticgraph.compiler.graph.tensor import Operation, Tensor, ancestors, is_rounds, whole
from staticgraph.compiler.stages import NAMES, observing, unobserved
from staticgraph.draw.compiled import Scopes, fused, optimized, scopes_of
from staticgraph.draw.model import Drawing
from staticgraph.draw.wording import refused
from staticgraph.runtime.feeds import convert, feed_tensors
from staticgraph.runtime.fetches import Fetches

ASSUMED = 32  # for a size that is unknown: a batch, most often


def sample_step(
    graph: Graph, fetches: Fetches, feeds: Mapping[Any, Any], session: Any
) -> tuple[Step, tuple[str, ...]]:
    """The step of a run that computes `fetches`, and remarks on the sizes that were assumed.

    `feeds`: for a tensor, an array, a number or the shape of an array. Variables whose shape the graph leaves
    open have that of their value in `session`.
    """
    types: dict[Tensor, TensorType] = {}
    values: dict[Tensor, np.ndarray] = {}
    for tensor, given in feed_tensors(graph, feeds).items():
        if isinstance(given, np.ndarray | np.generic | float | int):
            values[tensor] = convert(tensor, given)
            types[tensor] = TensorType(tensor.dtype, values[tensor].shape)
        else:
            types[tensor] = TensorType(tensor.dtype, _filled(tensor, _shape(tensor, given)))
    assumed = []
    for op in whole(ancestors([*(t.op for t in fetches.tensors), *fetches.targets])):
        if op.definition.name == "placeholder" and op.outputs[0] not in types:
            tensor = op.outputs[0]
            types[tensor] = TensorType(tensor.dtype, _filled(tensor, tensor.type.shape))
            if not tensor.type.is_static:
                assumed.append(op.name)
    planned = stages(fetches.tensors, fetches.targets, types.keys())
    for op in planned.leading:
        for tensor in (t for t in op.outputs if t not in types):
            types[tensor] = TensorType(tensor.dtype, _filled(tensor, tensor.type.shape))
            if not tensor.type.is_static:
                assumed.append(tensor.name)
    notes: tuple[str, ...] = (f"unknown sizes taken as {ASSUMED}: {', '.join(assumed)}",) if assumed else ()
    text = frozenset(t.op for t in types if t.dtype is string)
    calls = Calls(planned.trailing, text.union(planned.leading))
    numbers = {t: type for t, type in types.items() if t.dtype is not string}
    step = _specialised(graph, fetches, numbers, values, session, calls)
    assumed_later = [t for t in step.feeds if t not in types]
    rounds = [t.op.name for t in assumed_later if is_rounds(t)]
    if counts := [t.op.name for t in assumed_later if not is_rounds(t)]:
        notes += (f"sizes that data decide taken as {ASSUMED}: {', '.join(counts)}",)
    if rounds:
        notes += (f"rounds of which data decide the number taken as {ASSUMED}: {', '.join(rounds)}",)
    return step, notes


def compiled_fetches(fetches: Fetches) -> list[Tensor]:
    """The fetched tensors that a compiled step computes."""
    return [t for t in fetches.tensors if not is_host(t.op)]


def _specialised(
    graph: Graph,
    fetches: Fetches,
    types: dict[Tensor, TensorType],
    values: Mapping[Tensor, np.ndarray],
    session: Any,
    calls: Calls,
) -> Step:
    tensors, targets = compiled_fetches(fetches), [op for op in fetches.targets if not is_host(op)]
    variables: dict[Operation, TensorType | None] = {}
    static: dict[Tensor, np.ndarray] = {}
    counts: list[Tensor] = []  # whose value was assumed
    checks = session is not None and session.settings.check_bounds
    while True:
        try:
            request = CaptureRequest(graph, tensors, targets, types, variables, static, calls, checks=checks)
            made = capture(request)
        except FedShapeError:
            if counts:
                raise _unknown(counts[0]) from None
            raise
        match made:
            case Step() as step:
                return step
            case NeedsFeeds(unknown):
                static |= {tensor: _value(tensor, values) for tensor in unknown}
            case NeedsStage(unknown):
                for tensor in unknown:
                    if tensor not in values and (is_rounds(tensor) or _is_count(tensor)):
                        counts += [] if is_rounds(tensor) else [tensor]
                        types[tensor], static[tensor] = (
                            tensor.type,
                            np.array(ASSUMED, tensor.dtype.as_numpy_dtype),
                        )
                    else:
                        static[tensor] = _value(tensor, values)
            case NeedsTypes(unset):
                for op in unset:
                    type = op.outputs[0].type
                    known = None if session is None else session.variables.type_of(op)
                    variables[op] = known or TensorType(type.dtype, _filled(op.outputs[0], type.shape))
            case NeedsHost(op):  # a loop that only Python can do: its results are taken as given
                for tensor in (t for t in op.outputs if t not in types):
                    types[tensor] = TensorType(tensor.dtype, _filled(tensor, tensor.type.shape))
                calls = replace(calls, elsewhere=calls.elsewhere | {op})


def _is_count(tensor: Tensor) -> bool:
    """Return True for a number that the run itself computes, such as the length of what a loop writes."""
    return tensor.op.definition.name != "placeholder" and tensor.dtype.is_integer and tensor.type.shape == ()


def _value(tensor: Tensor, values: Mapping[Tensor, np.ndarray]) -> np.ndarray:
    if tensor not in values:
        raise _unknown(tensor)
    return values[tensor]


def _unknown(tensor: Tensor) -> FeedError:
    text = f"visualize: shapes depend on the value of {tensor.name}"
    hint = f'pass feeds={{"{tensor.name}": {"a number" if tensor.type.shape == () else "an array"}}}'
    return FeedError(layout(text, tensor.op.where, hint=hint), tensor.op)


def _shape(tensor: Tensor, given: Any) -> Shape | None:
    try:
        shape = as_shape(given if isinstance(given, list | tuple | TensorShape) else list(given))
    except (TypeError, ValueError):
        text = f"visualize: feeds[{tensor.name}] is {given!r}"
        raise FeedError(layout(text, user_frame(), hint="give an array, or its shape"), tensor.op) from None
    if not compatible(shape, tensor.type.shape):
        text = f"visualize: feeds[{tensor.name}] is {shape_text(shape)}, and {tensor.name} is {tensor.type}"
        made = [(tensor.name, tensor.op.where)]
        hint = "a list is the shape of an array; values are an array: np.asarray([...])"
        raise FeedError(layout(text, user_frame(), made, hint), tensor.op)
    return shape


def _filled(tensor: Tensor, shape: Shape | None) -> tuple[int, ...]:
    if shape is None:
        text = f"visualize: the rank of {tensor.name} is not known"
        hint = f"pass feeds={{{tensor.op.name}: its shape}}"
        raise FeedError(layout(text, tensor.op.where, hint=hint), tensor.op)
    return tuple(ASSUMED if n is None else n for n in shape)


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
