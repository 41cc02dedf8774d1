"""Functions of a program that make its variables, or change how they are made: `variable_creator_scope`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.compiler.graph.graph import Graph
from staticgraph.compiler.support.lazy_names import extension
from staticgraph.state.variables import CREATORS, Variable

Creator = Callable[..., Any]


@contextmanager
def _creators(graph: Graph, creators: Sequence[Creator]) -> Iterator[None]:
    """Context in which these functions make the variables of a graph."""
    before = graph.attached.get(CREATORS, ())
    graph.attached[CREATORS] = creators
    try:
        yield
    finally:
        graph.attached[CREATORS] = before


@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Context in which a function makes the variables of the default graph, also those of `get_variable`.

    Args:
        variable_creator: A function of `next_creator` and of the arguments of `Variable`, all by name. It
            returns the variable, which `next_creator(**arguments)` makes: that is the function of the scope
            around, and at last what makes a variable.

    Raises:
        TypeError: If `variable_creator` cannot be called.

    >>> import staticgraph as sg
    >>> def frozen(next_creator, **arguments):
    ...     return next_creator(**{**arguments, "trainable": False})
    >>> with sg.variable_creator_scope(frozen):
    ...     v = sg.get_variable("v", [2])
    >>> v.trainable, sg.trainable_variables()
    (False, [])
    """
    if not callable(variable_creator):
        raise misuse(TypeError, f"variable_creator is {shown(variable_creator)}, and must be a function")
    graph = get_default_graph()
    with _creators(graph, (*graph.attached.get(CREATORS, ()), variable_creator)):
        yield


@extension("created_variable")
def created_variable(
    cls: type[Variable], creators: Sequence[Creator], args: Sequence[Any], options: Mapping[str, Any]
) -> Any:
    """Return what the creators make of the arguments of a variable: the innermost is called first."""
    given = inspect.signature(cls.__init__).bind(None, *args, **options)
    given.apply_defaults()
    del given.arguments["self"]
    graph = get_default_graph()

    def make(**arguments: Any) -> Any:
        with _creators(graph, ()):
            return cls(**arguments)

    for creator in creators:
        make = partial(creator, make)
    return make(**given.arguments)
