"""Functions of matrices that a linear operator answers itself, as `sg.matmul(operator, x)`.

An operator is an operand with a method `answer(function, arguments)`. So nothing here imports operators.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


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
