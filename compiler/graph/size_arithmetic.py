"""Meanings of integer ops on open sizes, for ops whose NumPy references take numbers alone.

An array of open sizes is an array of objects. Sums, products and comparisons of such arrays are NumPy's. A
quotient, for example, is not: the reference of `floor_div` asks for the kind of its numbers.

    n = shape(x)[0]
    halves = reshape(x[: n // 2 * 2], [n // 2, 2, 4])

A function of `MEANINGS` takes what the reference takes, and raises TypeError or Undecided if its result is no
size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.graph.sizes import AnySize, Size, bounds, terms_of

_MOST_DEGREE = 6  # of a product of sizes: one of more is a power
_ROOM = 7  # bits that a factor of a size leaves for the size: numbers with larger factors wrap around
_MOST_POWER = 8  # a greater power of a size does not fit into 64 bits


def _floored(a: AnySize, b: AnySize) -> AnySize:
    if b == 0:
        raise TypeError("nothing is divided by zero: a run tells it")
    return a // b


def _remainder(a: AnySize, b: AnySize) -> AnySize:
    return a - _floored(a, b) * b


def _truncated(a: AnySize, b: AnySize) -> AnySize:
    return _floored(a, b) if (a >= 0) == (b >= 0) else -_floored(-a, b)


def _truncated_remainder(a: AnySize, b: AnySize) -> AnySize:
    return a - _truncated(a, b) * b


def _absolute(a: AnySize) -> AnySize:
    return a if a >= 0 else -a


def _power(a: AnySize, b: AnySize) -> AnySize:
    if isinstance(b, Size) or not 0 <= b <= _MOST_POWER:
        raise TypeError("this power of a size is no size")
    power: AnySize = 1
    for _ in range(b):
        power = power * a
    return power


def _right_shifted(a: AnySize, b: AnySize) -> AnySize:
    return a // _power_of_two(b)


def _left_shifted(a: AnySize, b: AnySize) -> AnySize:
    return a * _power_of_two(b)


def _power_of_two(exponent: AnySize) -> int:
    if isinstance(exponent, Size) or not 0 <= exponent < 31:
        raise TypeError("this shift of a size is no size")
    return 1 << exponent


def _masked(a: AnySize, b: AnySize) -> AnySize:
    """Return `a & b` if one of them is a mask of the lowest bits, or of all others."""
    if isinstance(b, Size):
        a, b = b, a
    if not isinstance(a, Size):
        return a & b
    if isinstance(b, Size):
        raise TypeError("these bits of a size are no size")
    lowest = b if b >= 0 else ~b
    if lowest & (lowest + 1):
        raise TypeError("these bits of a size are no size")
    return a % (b + 1) if b >= 0 else a - a % -b


def _elementwise(function: Callable[..., AnySize], count: int) -> Callable[..., Any]:
    apply = np.frompyfunc(function, count, 1)
    return lambda *values: apply(*(np.asarray(value, object) for value in values))


def _greatest(x: np.ndarray, axis: tuple[int, ...], keepdims: bool) -> Any:
    return np.max(x, axis=axis, keepdims=keepdims)


def _least(x: np.ndarray, axis: tuple[int, ...], keepdims: bool) -> Any:
    return np.min(x, axis=axis, keepdims=keepdims)


MEANINGS: Mapping[str, Callable[..., Any]] = {
    "abs": _elementwise(_absolute, 1),
    "bitwise_and": _elementwise(_masked, 2),
    "floor_div": _elementwise(_floored, 2),
    "floormod": _elementwise(_remainder, 2),
    "left_shift": _elementwise(_left_shifted, 2),
    "pow": _elementwise(_power, 2),
    "reduce_max": _greatest,
    "reduce_min": _least,
    "right_shift": _elementwise(_right_shifted, 2),
    "truncatediv": _elementwise(_truncated, 2),
    "truncatemod": _elementwise(_truncated_remainder, 2),
}


def _wraps(size: AnySize, dtype: DType) -> bool:
    """Return True if numbers of a dtype may wrap around where a size is exact.

    Numbers such as `n * 1103515245 + 12345` of int32, and those of less than 32 bits, are taken for no sizes.
    `n * 64` is a size if it fits for the sizes at hand, which is a guard then. Raises Undecided if there are
    none.
    """
    least, most = bounds(size)
    if dtype.min <= least and most <= dtype.max:
        return False
    if dtype.size < 4 or (least < 0 and dtype.min == 0):
        return True
    most_factor = int(dtype.max) >> _ROOM
    if any(abs(f) > most_factor or len(m) > _MOST_DEGREE for m, f in terms_of(size).items()):
        return True
    return not (size >= int(dtype.min) and size <= int(dtype.max))


def of_sizes(op: OpDef, values: Sequence[np.ndarray], attrs: Mapping[str, Any], dtype: DType) -> Any:
    """Return what an op makes of arrays, some of which are of open sizes.

    Args:
        op: An op that has a reference, and whose result consists of whole numbers or truth values.
        values: Its inputs. An array of open sizes has the dtype object.
        attrs: Its attributes.
        dtype: The dtype of its result.

    Returns:
        The result, or None if it does not consist of sizes, or may wrap around.

    Raises:
        Undecided: A comparison has no answer.
    """
    assert op.reference is not None
    if not any(value.dtype == object for value in values):
        return op.reference(*values, **attrs)
    try:
        made = values[0] if op.name == "cast" else MEANINGS.get(op.name, op.reference)(*values, **attrs)
    except (TypeError, ValueError):  # NumPy cannot do this with objects
        return None
    if dtype.is_integer and any(_wraps(size, dtype) for size in np.ravel(made).tolist()):
        return None
    return made
