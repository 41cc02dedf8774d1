"""Questions and assertions about dtypes and Python values. All are decided at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from staticgraph.arrays.indexed_slices import IndexedSlices
from staticgraph.building.framework import name_scope
from staticgraph.building.inputs import convert_to_tensor, no_op
from staticgraph.compiler.graph.dtypes import DType, as_dtype, float32
from staticgraph.compiler.graph.errors import DtypeError, misuse
from staticgraph.compiler.graph.tensor import Operation, Tensor
from staticgraph.sparse.tensor import SparseTensor
from staticgraph.state.variables import Variable


def is_tensor(x: Any) -> bool:
    """Return True if `x` is a tensor (dense, sparse or IndexedSlices) or a variable.

    Args:
        x: Any object.

    >>> import staticgraph as sg
    >>> sg.is_tensor(sg.zeros([2])), sg.is_tensor(np.zeros(2))
    (True, False)
    """
    return isinstance(x, Tensor | SparseTensor | IndexedSlices | Variable)


def is_numeric_tensor(tensor: Any) -> bool:
    """Return True if `tensor` is a dense tensor of numbers, not of bool or strings.

    Args:
        tensor: Any object. A variable is not a tensor here.
    """
    return isinstance(tensor, Tensor) and not (tensor.dtype.is_bool or tensor.dtype.kind == "string")


def assert_type(tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None) -> Operation:
    """TypeError unless the dtype is `tf_type`. An operation that does nothing.

    >>> sg.assert_type(sg.constant(1), sg.int32).type
    'NoOp'
    """
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        wanted = as_dtype(tf_type)
        if tensor.dtype is not wanted:
            raise _wrong(message, tensor, f"must be {wanted.name}")
        return no_op(name="statically_determined_correct_type")


def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> Operation:
    """TypeError unless the dtype is one of integers. An operation that does nothing."""
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise _wrong(message, x, "must be of an integer dtype")
        return no_op(name="statically_determined_was_integer")


def _wrong(message: str | None, tensor: Tensor, text: str) -> DtypeError:
    headline = f"{message + ': ' if message else ''}{tensor.name} is {tensor.dtype.name}, it {text}"
    return misuse(DtypeError, headline, made=[(tensor.name, tensor.op.where)])


def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """The one floating dtype of all `tensors`, those that are not None, and of `dtype` if given.

    float32 where nothing is given; ValueError if they differ, or do not hold floating numbers.

    >>> sg.assert_same_float_dtype([sg.zeros([2]), None], sg.float32)
    sg.float32
    """
    found = None if dtype is None else as_dtype(dtype)
    for tensor in tensors or ():
        if tensor is None:
            continue
        found = found or tensor.dtype
        if tensor.dtype is not found:
            text = f"{tensor.name} is {tensor.dtype.name}, where {found.name} is expected of all"
            raise misuse(ValueError, text, made=[(tensor.name, getattr(tensor.op, "where", None))])
    found = found or float32
    if not found.is_floating:
        raise misuse(ValueError, f"the dtype is {found.name}, a floating one is expected")
    return found


def assert_proper_iterable(values: Any) -> None:
    """TypeError unless `values` is a list or the like, and no tensor, array or string, which one could also
    go through.
    """
    if isinstance(values, Tensor | SparseTensor | np.ndarray | str | bytes):
        text = f"a list or tuple of values is expected, not {values!r}"
        raise misuse(DtypeError, text, "put it into a list")
    if not isinstance(values, Iterable):
        raise misuse(DtypeError, f"{values!r} is nothing to go through")
