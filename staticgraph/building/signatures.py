"""Functions whose parameters are derived, from those of another function or from a row of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any

from staticgraph.compiler.graph.errors import misuse


def parameters_of(defaults: Mapping[str, Any]) -> list[Parameter]:
    """Parameters with these names and defaults, annotated by the type of the default (None: anything)."""
    return [
        Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=value,
            annotation="Any" if value is None else type(value).__name__,
        )
        for name, value in defaults.items()
    ]


def arguments(
    name: str, signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the value of each parameter in a call, defaults included.

    Args:
        name: What was called, for the message.
        signature: Its parameters.
        args: The arguments by position.
        kwargs: The arguments by name.

    Raises:
        TypeError: A parameter has no value, or an argument no parameter.
    """
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise misuse(TypeError, f"{name}(): {error}") from None
    bound.apply_defaults()
    return bound.arguments
