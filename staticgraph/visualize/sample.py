"""A step to draw: compiled stages have static shapes, so sizes that only a feed would tell are assumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dependencies import needed
from staticgraph.compiler.graph.errors import FeedError, FetchError, layout
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.graph.provenance import user_frame
from staticgraph.compiler.graph.shapes import Shape, TensorShape, TensorType, as_shape, compatible, shape_text
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.compiler.passes.specialise import StaticFeedNeeded, Step, VariableTypeNeeded, specialise
from staticgraph.runtime.feeds import convert, feed_tensors
from staticgraph.runtime.fetches import Fetches

ASSUMED = 32  # for a size that is unknown: a batch, most often


def sample_step(
    graph: Graph, fetches: Fetches, feeds: Mapping[Any, Any], session: Any
) -> tuple[Step, tuple[str, ...]]:
    """The step of a run that computes `fetches`, and remarks on the sizes that were assumed.

    `feeds`: for a tensor, an array or the shape of one. Variables whose shape the graph leaves open have
    that of their value in `session`.
    """
    if not fetches.tensors and not fetches.targets:
        raise FetchError(
            layout("visualize: nothing to draw", user_frame(), hint="pass tensors or operations")
        )
    types: dict[Tensor, TensorType] = {}
    values: dict[Tensor, np.ndarray] = {}
    for tensor, given in feed_tensors(graph, feeds).items():
        if isinstance(given, np.ndarray | np.generic):
            values[tensor] = convert(tensor, given)
            types[tensor] = TensorType(tensor.dtype, values[tensor].shape)
        else:
            types[tensor] = TensorType(tensor.dtype, _filled(tensor, _shape(tensor, given)))
    assumed = []
    for op in needed([*(t.op for t in fetches.tensors), *fetches.targets]):
        if op.definition.name == "placeholder" and op.outputs[0] not in types:
            tensor = op.outputs[0]
            types[tensor] = TensorType(tensor.dtype, _filled(tensor, tensor.type.shape))
            if not tensor.type.is_static:
                assumed.append(op.name)
    notes = (f"unknown sizes taken as {ASSUMED}: {', '.join(assumed)}",) if assumed else ()
    return _specialised(graph, fetches, types, values, session), notes


def _specialised(
    graph: Graph,
    fetches: Fetches,
    types: Mapping[Tensor, TensorType],
    values: Mapping[Tensor, np.ndarray],
    session: Any,
) -> Step:
    variables: dict[Operation, TensorType | None] = {}
    static: dict[Tensor, np.ndarray] = {}
    while True:
        try:
            return specialise(graph, fetches.tensors, fetches.targets, types, variables, static)
        except StaticFeedNeeded as needed_values:
            for tensor in needed_values.feeds:
                if tensor not in values:
                    text = f"visualize: shapes depend on the value of {tensor.name}"
                    hint = f"pass feeds={{{tensor.op.name}: an array}}"
                    raise FeedError(layout(text, tensor.op.where, hint=hint), tensor.op) from None
                static[tensor] = values[tensor]
        except VariableTypeNeeded as asked:
            for op in asked.variables:
                type = op.outputs[0].type
                known = None if session is None else session.variables.type_of(op)
                variables[op] = known or TensorType(type.dtype, _filled(op.outputs[0], type.shape))


def _shape(tensor: Tensor, given: Any) -> Shape | None:
    try:
        shape = as_shape(given if isinstance(given, list | tuple | TensorShape) else list(given))
    except (TypeError, ValueError):
        text = f"visualize: feeds[{tensor.name}] is {given!r}"
        raise FeedError(layout(text, user_frame(), hint="give an array, or its shape"), tensor.op) from None
    if not compatible(shape, tensor.type.shape):
        text = f"visualize: feeds[{tensor.name}] is {shape_text(shape)}, and {tensor.name} is {tensor.type}"
        raise FeedError(layout(text, user_frame(), [(tensor.name, tensor.op.where)]), tensor.op)
    return shape


def _filled(tensor: Tensor, shape: Shape | None) -> tuple[int, ...]:
    if shape is None:
        text = f"visualize: the rank of {tensor.name} is not known"
        hint = f"pass feeds={{{tensor.op.name}: its shape}}"
        raise FeedError(layout(text, tensor.op.where, hint=hint), tensor.op)
    return tuple(ASSUMED if n is None else n for n in shape)
