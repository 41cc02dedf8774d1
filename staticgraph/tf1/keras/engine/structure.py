"""One tensor, or lists, tuples and dicts of tensors: what layers take and give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from staticgraph.compiler.graph.shapes import TensorShape


def leaves(value: Any) -> Iterator[Any]:
    """The items of a nested structure, in order; nothing for None."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from leaves(value[key])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield value


def mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """The same structure with `function` of each item; None stays None."""
    if isinstance(value, dict):
        return {key: mapped(function, item) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(function, item) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(mapped(function, item) for item in value)
    return None if value is None else function(value)


def of_shapes(function: Callable[[Any], Any], value: Any) -> Any:
    """Return the same structure with `function` of each shape.

    A shape is a `TensorShape`, or a list or tuple of sizes, which may be None; longer structures hold shapes.
    """
    if isinstance(value, dict):
        return {key: of_shapes(function, item) for key, item in value.items()}
    if isinstance(value, list | tuple) and any(
        isinstance(item, list | tuple | dict | TensorShape) for item in value
    ):
        return type(value)(of_shapes(function, item) for item in value)
    return function(value)


def listed(value: Any) -> list[Any]:
    """A list as it is, anything else as a list of one; nothing for None."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def single(items: list[Any]) -> Any:
    """The only item of a list, or the list."""
    return items[0] if len(items) == 1 else items
