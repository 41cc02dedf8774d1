"""`register_session_run_conversion_functions`: objects of a program that are fetched and fed like tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from staticgraph.compiler.graph.errors import misuse, shown
from staticgraph.runtime.fetches import CONVERSIONS, Fetched

__all__ = ["register_session_run_conversion_functions"]


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], Fetched],
    feed_function: Callable[[Any, Any], Iterable[tuple[Any, Any]]] | None = None,
    feed_function_for_partial_run: Callable[[Any], Iterable[Any]] | None = None,
) -> None:
    """Let objects of a class be fetched and fed.

    Args:
        tensor_type: The class. Objects of its subclasses are converted too.
        fetch_function: A function of an object. It returns a list of what to fetch in its place, and a
            function that makes the result of the list of their values.
        feed_function: A function of an object and the value that is fed to it. It returns pairs of a tensor
            and its value. Without it, objects of the class cannot be fed.
        feed_function_for_partial_run: Changes nothing: what a partial run will be fed is told as tensors.

    Raises:
        ValueError: The class, or one derived from it, is registered already.
        TypeError: The class is none, or a function cannot be called.
    """
    if not isinstance(tensor_type, type):
        raise misuse(TypeError, f"tensor_type is {shown(tensor_type)}, and must be a class")
    for name, function in (("fetch_function", fetch_function), ("feed_function", feed_function)):
        if not (callable(function) or (function is None and name == "feed_function")):
            raise misuse(TypeError, f"{name} is {shown(function)}, and must be a function")
    known = next((kind for kind, *_ in CONVERSIONS if issubclass(kind, tensor_type)), None)
    if known is not None:
        derived = "" if known is tensor_type else f", which is derived from {tensor_type.__name__},"
        raise misuse(ValueError, f"{known.__name__}{derived} is registered already")
    CONVERSIONS.insert(0, (tensor_type, fetch_function, feed_function))  # a subclass comes before its bases
