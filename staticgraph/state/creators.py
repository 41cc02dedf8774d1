"""`variable_creator_scope`: functions of a program that are called in place of `Variable`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from staticgraph.building.framework import get_default_graph
from staticgraph.compiler.graph.errors import misuse, shown

_KEY = "variable creators"  # of the list of them, outermost first, among what is attached to a graph


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Call a function in place of `Variable` for each new variable of the default graph, inside of a `with`.

    Args:
        variable_creator: A function `(next_creator, **kwargs)` that returns the variable. `kwargs` are all
            arguments of `Variable` by name. `next_creator(**kwargs)` calls the function of the scope around
            this one, and makes the variable in the outermost one. `get_variable` calls it for new variables.

    Raises:
        TypeError: If `variable_creator` cannot be called.

    >>> import staticgraph as sg
    >>> names = []
    >>> def watch(next_creator, **kwargs):
    ...     names.append(kwargs["name"])
    ...     return next_creator(**kwargs)
    >>> with sg.variable_creator_scope(watch):
    ...     v = sg.Variable(1.0, name="v")
    >>> names, v.name
    (['v'], 'v:0')
    """
    if not callable(variable_creator):
        raise misuse(TypeError, f"variable_creator is {shown(variable_creator)}, and must be a function")
    creators = get_default_graph().attached.setdefault(_KEY, [])
    creators.append(variable_creator)
    try:
        yield
    finally:
        creators.pop()


def create(kind: type[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what the creators of the default graph make of the arguments of `kind`, a class of variables."""

    def make(**arguments: Any) -> Any:
        made = object.__new__(kind)
        kind.__init__(made, **arguments)
        return made

    for creator in get_default_graph().attached[_KEY]:
        make = functools.partial(creator, make)
    bound = inspect.signature(kind.__init__).bind(None, *args, **kwargs)
    bound.apply_defaults()
    del bound.arguments["self"]
    return make(**bound.arguments)
