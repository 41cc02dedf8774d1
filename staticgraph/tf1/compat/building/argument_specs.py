"""`tensorflow.python.util.tf_inspect` and `function_utils`: arguments of functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple


class ArgSpec(NamedTuple):
    """The arguments of a function: their names, those of `*args` and `**kwargs`, and defaults of the last."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getargspec(obj: Callable[..., Any]) -> ArgSpec:
    """Return the arguments of a function that has none by keyword alone.

    >>> getargspec(lambda a, b=1, *more: a)
    ArgSpec(args=['a', 'b'], varargs='more', keywords=None, defaults=(1,))
    """
    return ArgSpec(*inspect.getfullargspec(obj)[:4])


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the arguments that a caller of `fn` may give.

    Args:
        fn: A function, a method, an object with `__call__`, or a partial application of one.

    >>> fn_args(functools.partial(lambda features, labels, mode: 0, labels=1))
    ('features', 'mode')
    """
    if isinstance(fn, functools.partial):
        return tuple(name for name in fn_args(fn.func)[len(fn.args) :] if name not in fn.keywords)
    called = fn if inspect.isroutine(fn) else type(fn).__call__
    names = inspect.getfullargspec(called).args
    is_bound = inspect.ismethod(fn) or called is not fn
    return tuple(names[1:] if is_bound and names else names)


def has_kwargs(fn: Callable[..., Any]) -> bool:
    """Return if a function takes any arguments by name."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    called = fn if inspect.isroutine(fn) else type(fn).__call__
    return inspect.getfullargspec(called).varkw is not None
