"""Functions of tensors that also take composite tensors, such as ragged ones, in a form of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from staticgraph.compiler.graph.checks.arguments import walked
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.opdef import COMPOSITES

_Function = TypeVar("_Function", bound=Callable[..., Any])


def for_composites(function: _Function) -> _Function:
    """Decorator: if an argument is a composite tensor, call its type's form of the function instead.

    The type registers its forms by the name of the function, in a class attribute `functions`.

    Raises:
        TypeError: In a call, if the type of an argument has no such form.
    """

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        if COMPOSITES and (found := _found((*args, *kwargs.values()), function)) is not None:
            form = type(found).functions.get(function.__name__)
            if form is None:
                text = f"{function.__name__} does not take a {type(found).__name__}"
                raise misuse(TypeError, text, type(found).CURE)
            return form(*args, **kwargs)
        return function(*args, **kwargs)

    return called  # type: ignore[return-value]


def _found(values: Any, function: Callable[..., Any]) -> Any:
    return walked(_composite, values, f"an argument of {function.__name__}")


def _composite(values: Any) -> Any:
    kinds = tuple(COMPOSITES)
    for value in values:
        if isinstance(value, kinds):
            return value
        if isinstance(value, list | tuple) and value and (found := _composite(value)) is not None:
            return found
    return None
