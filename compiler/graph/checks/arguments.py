"""Arguments of a wrong kind: checked where they are first used, told with the user's line and a cure.

Each function returns the argument in the form that its caller works with. Python's own error would come
later, from a place that says nothing to the user, such as "'NoneType' object has no attribute 'lower'".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from staticgraph.compiler.graph.errors import InvalidArgumentError, misuse, shown

_Found = TypeVar("_Found")


def text_of(value: Any, name: str) -> str:
    """Return a string. TypeError if it is none."""
    if not isinstance(value, str):
        raise misuse(TypeError, f"{name} is {shown(value)}, and must be a string")
    return value


def path_of(value: Any, name: str) -> str:
    """Return a path as a string: of a string, bytes or a `pathlib.Path`.

    Raises:
        TypeError: It is something else.
        InvalidArgumentError: It has a zero byte, which ends a path for the system.
    """
    try:
        path = os.fsdecode(value)
    except TypeError:
        hint = 'write it in quotes, such as "folder/file"'
        raise misuse(TypeError, f"{name} is {shown(value)}, and must be a path", hint) from None
    if "\0" in path:
        raise misuse(InvalidArgumentError, f"{name} is {shown(value)}, and a path has no zero byte")
    return path


def list_of(value: Any, name: str) -> list[Any]:
    """Return a list of the elements of anything that has some. TypeError for numbers, text and the like."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise misuse(TypeError, f"{name} is {shown(value)}, and must be a list", "write [...] around it")
    return list(value)


def function_of(value: Any, name: str) -> Callable[..., Any]:
    """Return a function. TypeError if it cannot be called."""
    if not callable(value):
        raise misuse(TypeError, f"{name} is {shown(value)}, and must be a function")
    return value


def whole_of(value: Any, name: str) -> int:
    """Return a whole number. TypeError for anything else, such as a fraction, a string or a list."""
    try:
        number = int(value)
        is_whole = bool(number == value) and not isinstance(value, str | bytes)
    except (TypeError, ValueError, ArithmeticError):
        is_whole = False
    if not is_whole:
        raise misuse(TypeError, f"{name} is {shown(value)}, and must be a whole number")
    return number


def flag_of(value: Any, name: str) -> bool:
    """Return True or False. TypeError for what is neither true nor false, such as an array or a tensor."""
    try:
        return bool(value)
    except (TypeError, ValueError):
        raise misuse(TypeError, f"{name} is {shown(value)}, and must be True or False") from None


def key_of(value: Any, name: str) -> Any:
    """Return the name of something that is looked up. TypeError for what cannot be one, such as a list."""
    try:
        hash(value)
    except TypeError:
        raise misuse(TypeError, f"{name} is {shown(value)}, and must be a string") from None
    return value


def keys_of(value: Any, name: str) -> list[Any]:
    """Return the names of collections: of one name, of a list of names, or of None. TypeError for others."""
    if value is None or isinstance(value, str):
        return [value] if value else []
    return [key_of(each, f"one of the {name}") for each in list_of(value, name)]


def walked(walk: Callable[[Any], _Found], value: Any, name: str) -> _Found:
    """Return what a walk through nested lists finds. ValueError for lists without end."""
    try:
        return walk(value)
    except RecursionError:
        raise misuse(ValueError, f"{name} is nested too deeply, or holds itself") from None


def real_of(value: Any, name: str) -> Any:
    """Return a number of Python's or NumPy's. TypeError if it is none, such as a string or a list."""
    try:
        float(value)
    except (TypeError, ValueError):
        raise misuse(TypeError, f"{name} is {shown(value)}, and must be a number") from None
    if isinstance(value, str | bytes):
        raise misuse(TypeError, f"{name} is {shown(value)}, and must be a number", "leave the quotes out")
    return value
