"""The op that calls a function of the user's, on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, as_dtype, bfloat16, float32, string
from staticgraph.compiler.graph.errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    shown,
)
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.ops.kinds import host

_CLASSES: dict[type[Exception], type[OpError]] = {
    TypeError: InvalidArgumentError,
    ValueError: InvalidArgumentError,
    StopIteration: OutOfRangeError,
    MemoryError: ResourceExhaustedError,
    NotImplementedError: UnimplementedError,
}


def _function_types(*inputs: TensorType, func: Any, Tout: tuple[DType, ...]) -> tuple[TensorType, ...]:
    return tuple(TensorType(dtype, None) for dtype in Tout)


def _call(*inputs: np.ndarray, func: Callable[..., Any], Tout: tuple[DType, ...]) -> tuple[np.ndarray, ...]:
    try:
        made = func(*(array.copy()[()] for array in inputs))  # the function may change what it gets
    except Exception as error:
        kind = next((kind for known, kind in _CLASSES.items() if isinstance(error, known)), UnknownError)
        raise kind(f"{type(error).__name__}: {error}") from error
    values = () if made is None else made if isinstance(made, list | tuple) else (made,)
    if len(values) != len(Tout):
        text = f"the function returns {len(values)} values, Tout has {len(Tout)}"
        raise InvalidArgumentError(text, hint="a function that returns nothing has Tout=[]")
    return tuple(_checked(i, value, dtype) for i, (value, dtype) in enumerate(zip(values, Tout, strict=True)))


def _checked(index: int, value: Any, wanted: DType) -> np.ndarray:
    """A returned value as an array; it must be of the dtype that was declared."""
    try:
        dtype = as_dtype(np.asarray(value).dtype)
        array = dtype.round(value)
    except TypeError:
        text = f"value {index} that the function returns is {shown(value)}"
        raise InvalidArgumentError(text, hint="return numbers, strings, or arrays of them") from None
    if dtype is not (float32 if wanted is bfloat16 else wanted):  # NumPy has no bfloat16
        cure = "str or bytes" if wanted is string else f"np.{wanted.name}"
        text = f"value {index} that the function returns is {dtype}, and Tout says {wanted}"
        raise InvalidArgumentError(text, hint=f"return {cure}")
    return array


@host(tf="PyFunc", type=_function_types, stateful=True, vars={"input": "*"})
def py_func(*input: Any, func: Callable[..., Any], Tout: tuple[DType, ...]) -> Any:
    """Call `func` once per run with the values of the inputs. Return its results, of the dtypes `Tout`."""
    return _call(*input, func=func, Tout=Tout)


@host(tf="PyFuncStateless", type=_function_types, vars={"input": "*"})
def py_func_stateless(*input: Any, func: Callable[..., Any], Tout: tuple[DType, ...]) -> Any:
    """As `py_func`, with a `func` that depends on nothing but its arguments: it may be called less often.

    Its values are of the dtypes `Tout`.
    """
    return _call(*input, func=func, Tout=Tout)
