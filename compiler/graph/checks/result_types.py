"""The types of an op's results: its type rule, between checks that hold for every op.

A type rule sees attributes of the kinds that it is written for, and what it says can be addressed. Graphs of
files and of users come through here, and so does every node of a Function, where all sizes are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.errors import (
    DtypeError,
    GraphError,
    OpError,
    RuleError,
    SizeError,
    require,
    shown,
)
from staticgraph.compiler.graph.opdef import OpDef, Param, Role
from staticgraph.compiler.graph.shapes import MOST_AXES, TensorType, shape_text
from staticgraph.compiler.graph.sizes import AnySize, Size, evaluate, is_open

_ADDRESSES = 1 << 63  # bytes
_SHOWN = (int, float, str, tuple, DType)  # attributes that mean something to a reader


def result_types(op: OpDef, types: Sequence[TensorType], attrs: Mapping[str, Any]) -> tuple[TensorType, ...]:
    """The types of the results of `op` on operands of these types.

    Raises:
        RuleError: if the operands or the attributes do not fit the op.
    """
    try:
        made = op.type(*types, **attrs)
    except (GraphError, OpError):
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        _check_kinds(op, attrs)
        if isinstance(error, TypeError):
            _check_lists(op, attrs)
        given = ", ".join(f"{name} = {shown(v)}" for name, v in attrs.items() if isinstance(v, _SHOWN))
        raise RuleError(f"operands and attributes do not fit together: {given or error}") from error
    _check_kinds(op, attrs)
    made = made if isinstance(made, tuple) else (made,)
    for type in made:
        _check_sizes(type)
    return made


def _check_kinds(op: OpDef, attrs: Mapping[str, Any]) -> None:
    for param in op.params:
        kind = _KINDS.get(param.kind) or (_OPERAND if param.role is Role.OPERAND else None)
        if param.name in attrs and kind is not None:
            (expected, fits), value = kind, attrs[param.name]
            if not fits(value) and not _is_open(param, value):
                require(False, f"{param.name} is {shown(value)}, and must be {expected}", kind=DtypeError)


def _check_lists(op: OpDef, attrs: Mapping[str, Any]) -> None:
    """Tell of a number for an operand such as a shape, whose type rule could not go over it."""
    for param in op.params:
        value = attrs.get(param.name)
        if param.role is Role.OPERAND and isinstance(value, int):
            require(False, f"{param.name} is {value}, and must be a list", hint=f"write [{value}]")


def _check_sizes(type: TensorType) -> None:
    if type.shape is None:
        return
    usual = True
    for n in type.shape:
        if n.__class__ is not int or n < 0:
            usual = False
            break
    whole = usual or all(n is None or (isinstance(n, (int, np.integer, Size)) and n >= 0) for n in type.shape)
    if not whole:
        what = f"a result would have the shape {list(type.shape)}"
        require(False, what, hint="sizes are whole numbers, 0 or more")
    if not usual and is_open(type.shape):  # looked at when the values are known: see `addressable`
        return
    if not has_addresses(type):
        what = f"a result of shape {shape_text(type.shape)} needs more memory than there are addresses"
        require(False, what, "it has too many elements for any computer", SizeError)
    if len(type.shape) > MOST_AXES:
        require(False, f"a result has {len(type.shape)} axes, and can have {MOST_AXES}")


def has_addresses(type: TensorType) -> bool:
    """Return True if NumPy takes a shape, as far as it is known. An axis without elements counts as one."""
    return math.prod(filter(None, type.shape or ())) * type.dtype.size < _ADDRESSES


def addressable(sizes: Iterable[AnySize], values: Mapping[str, int]) -> bool:
    """Return True if there are addresses for blocks of so many bytes each, for values of the open sizes."""
    return all(evaluate(size, values) < _ADDRESSES for size in sizes)


def is_known(param: Param, value: Any) -> bool:
    """Return True if the value of an operand is known in full."""
    if isinstance(value, tuple):
        return None not in value
    return value is not None or param.default is None


def _is_open(param: Param, value: Any) -> bool:
    """Return True if an attribute is left out, or an operand is not known yet, in full or in part."""
    if value is None:
        return param.default is None or param.partial
    return param.partial and isinstance(value, tuple) and None in value


def _is_int(value: Any) -> bool:
    if isinstance(value, Size):
        return True
    return isinstance(value, (int, np.integer)) and -_ADDRESSES <= int(value) < 2 * _ADDRESSES


def _are_ints(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_int, value))


def _are_whole(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(v is None or _are_whole(v) for v in value)
    return _is_int(value)


_OPERAND = ("made of whole numbers", _are_whole)  # shapes, axes and the like
# What attributes may be, by the annotation of the function that an op is made of.
_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", _is_int),
    "int | None": ("a whole number or None", lambda value: value is None or _is_int(value)),
    "bool": ("True or False", lambda value: isinstance(value, int) and value in (0, 1)),
    "float": ("a number", lambda value: isinstance(value, float) or _is_int(value)),
    "str": ("a string", lambda value: isinstance(value, str)),
    "DType": ("a dtype", lambda value: isinstance(value, DType)),
    "Ints": ("a list of whole numbers", _are_ints),
    "Sequence[int]": ("a list of whole numbers", _are_ints),
    "tuple[int, ...]": ("a list of whole numbers", _are_ints),
}
