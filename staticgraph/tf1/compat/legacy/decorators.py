"""`tensorflow.python.util`: decorators that speak to TensorFlow's own tools, and change nothing here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tf_export(*names: str, **options: Any) -> Callable[[Any], Any]:
    """A decorator that leaves what it decorates as it is."""
    return lambda decorated: decorated


def deprecated(date: str | None, instructions: str, warn_once: bool = True) -> Callable[[Any], Any]:
    """A decorator that leaves a function as it is."""
    return lambda function: function


def deprecated_args(date: str | None, instructions: str, *names: Any, **options: Any) -> Callable[[Any], Any]:
    """A decorator that leaves a function as it is, some arguments of which are deprecated."""
    return lambda function: function


def deprecated_arg_values(
    date: str | None, instructions: str, warn_once: bool = True, **values: Any
) -> Callable[[Any], Any]:
    """A decorator that leaves a function as it is, some values of which are deprecated."""
    return lambda function: function


def make_decorator(target: Any, decorator_func: Any, *details: Any, **more: Any) -> Any:
    """The function that stands for `target`."""
    decorator_func.__wrapped__ = target
    return decorator_func


def unwrap(maybe_tf_decorator: Any) -> tuple[list[Any], Any]:
    """Return the layers that decorate a function, outermost first, and the function itself."""
    layers = []
    while hasattr(maybe_tf_decorator, "__wrapped__"):
        layers.append(maybe_tf_decorator)
        maybe_tf_decorator = maybe_tf_decorator.__wrapped__
    return layers, maybe_tf_decorator
