"""`tf.contrib.framework.arg_scope`: default arguments of layers within a scope."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import signature
from typing import Any

from staticgraph.compiler.graph.errors import misuse

Scope = Mapping[str, Mapping[str, Any]]

_scope: ContextVar[Scope] = ContextVar("arg_scope")


def _key(function: Any) -> str:
    """Return the name of a function in a scope, the same before and after `add_arg_scope`."""
    if has_arg_scope(function):
        return str(function._arg_scope_key)
    return f"{function.__module__}.{getattr(function, '__qualname__', function)}"


def add_arg_scope(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose arguments `arg_scope` can give; those of a call come first."""

    @functools.wraps(func)
    def scoped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **{**current_arg_scope().get(_key(func), {}), **kwargs})

    scoped.__dict__["_arg_scope_key"] = _key(func)
    return scoped


def has_arg_scope(func: Callable[..., Any]) -> bool:
    """Return True if `add_arg_scope` marked `func`, so that `arg_scope` can give its arguments."""
    return hasattr(func, "_arg_scope_key")


def arg_scoped_arguments(func: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that `arg_scope` can give."""
    return tuple(name for name, p in signature(func).parameters.items() if p.default is not p.empty)


def current_arg_scope() -> Scope:
    """The arguments that scopes give now, by function."""
    return _scope.get({})


@contextmanager
def arg_scope(list_ops_or_scope: Sequence[Callable[..., Any]] | Scope, **kwargs: Any) -> Iterator[Scope]:
    """Context that gives arguments to functions marked with `add_arg_scope`; or one that was saved with `as`.

    >>> from staticgraph.tf1.compat.contrib.framework.arg_scope import add_arg_scope, arg_scope
    >>> @add_arg_scope
    ... def scaled(x, factor=1):
    ...     return x * factor
    >>> with arg_scope([scaled], factor=3):
    ...     scaled(2), scaled(2, factor=5)
    (6, 10)
    """
    if isinstance(list_ops_or_scope, Mapping):
        if kwargs:
            raise misuse(ValueError, "arg_scope(scope): a saved scope takes no further arguments")
        scope = list_ops_or_scope
    else:
        scope = dict(current_arg_scope())
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                raise misuse(ValueError, f"arg_scope: {_key(function)} is not marked with add_arg_scope")
            scope[_key(function)] = {**scope.get(_key(function), {}), **kwargs}
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        _scope.reset(token)
