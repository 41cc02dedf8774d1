"""Functions of tensors that also take other operands, in a form of their own: composite tensors, such as
ragged ones; and linear operators, which answer themselves, as in `sg.matmul(operator, x)`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from staticgraph.compiler.graph.checks.arguments import walked
from staticgraph.compiler.graph.errors import misuse
from staticgraph.compiler.graph.opdef import COMPOSITES

F = TypeVar("F", bound=Callable[..., Any])


def for_composites(function: F) -> F:
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


def answered_by_operators(function: F) -> F:
    """Return `function`, which asks an operand that is a linear operator for the result.

    Args:
        function: A function whose first two parameters may be operators. Its name is what they are asked for.
    """
    signature = inspect.signature(function)
    names = list(signature.parameters)[:2]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for operand in (*args[:2], *(kwargs[name] for name in names if name in kwargs)):
            if hasattr(type(operand), "answer"):
                bound = signature.bind(*args, **kwargs)
                return operand.answer(function.__name__, bound.arguments)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]
