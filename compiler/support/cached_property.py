"""`cached_property` without a lock.

That of the standard library holds one in Python 3.11 while it computes, and a process that is forked at that
moment would never get it. Two threads may compute the same value; the last one stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

T = TypeVar("T")


class _CachedProperty(Generic[T]):
    """A property that is computed once and then lies in the object's `__dict__`."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, kind: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        found = owner.__dict__[self.name] = self.function(owner)
        return found


if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:
    cached_property = _CachedProperty
