"""Portability of Python functions: a call in another process computes the same result.

In another process the function has copies of all objects that it refers to. Changes of the copies are not
seen here, and changes made here are not seen there. A function is *portable* if all objects that it refers
to stay as they are: numbers, strings, tuples, read-only arrays, classes, modules, and functions that are
portable themselves. Functions of other packages are assumed to be portable.
"""

from __future__ import annotations

import dis
import functools
import re
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_ARRAY_FUNCTION = type(np.sum)
_CONSTANT = (int, float, complex, str, bytes, range, re.Pattern, np.generic, np.dtype, type(None))
_STATELESS = (type, ModuleType, np.ufunc, _ARRAY_FUNCTION)
_CHANGING = {"STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"}


def is_portable(function: Callable[..., Any]) -> bool:
    """Return True if `function` neither changes nor reads mutable state, as far as can be seen."""
    return _is_portable(function, _package(function), set())


def _is_portable(value: Any, package: str, seen: set[int]) -> bool:
    if id(value) in seen:
        return True
    seen.add(id(value))
    match value:
        case FunctionType():
            if _package(value) != package:
                return True
            stays = all(map(_stays, _codes(value.__code__)))
            return stays and all(_is_portable(each, package, seen) for each in _referred(value))
        case functools.partial():
            parts = (value.func, *value.args, *value.keywords.values())
            return all(_is_portable(each, package, seen) for each in parts)
        case tuple() | frozenset():
            return all(_is_portable(each, package, seen) for each in value)
        case np.ndarray():
            return not value.flags.writeable and value.dtype != object
        case BuiltinFunctionType():  # or a method of something built in, such as a list
            return value.__self__ is None or isinstance(value.__self__, ModuleType)
    return isinstance(value, _CONSTANT + _STATELESS)


def _package(function: Any) -> str:
    return str(getattr(function, "__module__", "")).partition(".")[0]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _stays(code: CodeType) -> bool:
    """Return True if `code` rebinds nothing outside of it."""
    for each in dis.get_instructions(code):
        if each.opname in _CHANGING:
            return False
        if each.opname in ("STORE_DEREF", "DELETE_DEREF") and each.argval in code.co_freevars:
            return False
    return True


def _referred(function: FunctionType) -> Iterator[Any]:
    """The values that a function has from outside."""
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            yield cell
    for code in _codes(function.__code__):
        for each in dis.get_instructions(code):
            if each.opname in ("LOAD_GLOBAL", "LOAD_NAME") and each.argval in function.__globals__:
                yield function.__globals__[each.argval]
