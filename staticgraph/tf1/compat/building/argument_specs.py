"""`tensorflow.python.util.tf_inspect`: what Python's own `inspect` no longer has."""

from __future__ import annotations

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
