"""The global step: a variable that counts training steps."""

from __future__ import annotations

from typing import Any

from staticgraph.building.framework import GraphKeys, get_default_graph
from staticgraph.compiler.graph.dtypes import int64
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.graph import Graph
from staticgraph.state.initializers import Zeros
from staticgraph.state.replicas import VariableAggregation
from staticgraph.state.scopes import get_variable


def get_global_step(graph: Graph | None = None) -> Any:
    """The global step of `graph`, the default one by default, or None.

    >>> sg.train.get_global_step() is None
    True
    >>> step = sg.train.get_or_create_global_step()
    >>> sg.train.get_global_step() is step
    True
    """
    graph = graph or get_default_graph()
    steps = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(steps) > 1:
        raise misuse(
            ValueError, f"the graph has {len(steps)} variables in the collection {GraphKeys.GLOBAL_STEP}"
        )
    if not steps:
        step = graph.variables.get("global_step")
    else:
        step = steps[0]
    if step is not None:
        assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Any:
    """A new global step: an int64 variable `global_step`, 0 at first. ValueError if the graph has one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise misuse(ValueError, '"global_step" already exists: use get_or_create_global_step()')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            "global_step",
            [],
            int64,
            Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The global step, made if there is none.

    >>> import staticgraph as sg
    >>> sg.train.get_or_create_global_step()
    <sg.Variable 'global_step:0' shape=() dtype=int64>
    """
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The value of the global step in a session, as an int."""
    return int(sess.run(global_step_tensor))


def assert_global_step(global_step_tensor: Any) -> None:
    """TypeError unless this is an integer scalar."""
    if not global_step_tensor.dtype.is_integer:
        raise misuse(
            TypeError,
            f"a global step has integer type, {global_step_tensor.name} is {global_step_tensor.dtype}",
        )
    if global_step_tensor.shape.ndims not in (0, None):
        raise misuse(
            TypeError,
            f"a global step is a scalar, {global_step_tensor.name} has shape {global_step_tensor.shape}",
        )
