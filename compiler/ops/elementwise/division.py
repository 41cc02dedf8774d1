"""Quotients and remainders.

An integer divided by zero gives 0, where TensorFlow fails: a compiled program has no exceptions to raise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.graph.builder import infer_dtype
from staticgraph.compiler.graph.checks.requirements import divisor
from staticgraph.compiler.graph.dtypes import COMPLEX, FLOATING, REAL, DType, float32, float64
from staticgraph.compiler.graph.opdef import method, scope
from staticgraph.compiler.graph.sizes import AnySize
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.elementwise.casting import cast
from staticgraph.compiler.ops.kinds import elementwise, holomorphic
from staticgraph.compiler.ops.samples import reals

# Dividends of either sign; divisors away from 0.
DIVISORS = reals(-9.0, 9.0, (1.0, 4.0))


def _quotient_grad(g: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Reads a and b alone, as in TensorFlow; the compiler has the quotient already."""
    part = g / b
    return part, -part * (a / b)


@elementwise(
    tf="RealDiv", numpy=np.true_divide, dtypes=FLOATING | COMPLEX, primitive="div", samples=DIVISORS,
    grad=holomorphic(_quotient_grad),
)
def realdiv(x: Any, y: Any) -> Any:
    """x / y for floating numbers.

    >>> sg.Session().run(sg.realdiv([7.0, 1.0], 2.0))
    array([3.5, 0.5], dtype=float32)
    """
    return x / y


def _safe(divide: Callable[[Any, Any], Any]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """`divide`, with 0 where the divisor is 0."""

    def function(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y == 0, np.zeros_like(y), divide(x, np.where(y == 0, np.ones_like(y), y)))

    return function


def _no_nan_grad(g: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    part = div_no_nan(g, b)
    return part, -part * div_no_nan(a, b)


@elementwise(
    tf="DivNoNan", numpy=_safe(np.true_divide), dtypes=FLOATING | COMPLEX, samples=DIVISORS,
    grad=holomorphic(_no_nan_grad),
)
def div_no_nan(x: Any, y: Any) -> Any:
    """x / y, and 0 where y is 0."""
    return scalar.select(scalar.eq(y, 0), 0, x / y)


def _quotient_of_sizes(x: AnySize, y: AnySize) -> AnySize:
    if y == 0:
        raise TypeError("nothing is divided by zero: a run tells it")
    return x // y


def _truncated_of_sizes(x: AnySize, y: AnySize) -> AnySize:
    return _quotient_of_sizes(x, y) if (x >= 0) == (y >= 0) else -_quotient_of_sizes(-x, y)


def _floored(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _safe(np.floor_divide)(x, y) if x.dtype.kind in "iu" else np.floor(x / y)


def _interval_of_quotient(
    y: Any, a: tuple[float, float], b: tuple[float, float]
) -> tuple[float, float] | None:
    ends = [m // n for m in a for n in b] if b[0] > 0 else []
    return (min(ends), max(ends)) if ends else None


@elementwise(
    tf="FloorDiv", numpy=_floored, dtypes=REAL, primitive="floordiv", differentiable=False, samples=DIVISORS,
    requires=divisor("floor_div"), of_sizes=_quotient_of_sizes, interval=_interval_of_quotient,
)
def floor_div(x: Any, y: Any) -> Any:
    """x / y rounded down: -7 / 2 gives -4.

    >>> sg.Session().run(sg.floor_div([7, -7], 2))
    array([ 3, -4], dtype=int32)
    """
    return x // y


@elementwise(
    tf="FloorMod", numpy=lambda x, y: _safe(np.mod)(x, y) if x.dtype.kind in "iu" else np.mod(x, y),
    dtypes=REAL, primitive="floormod", samples=DIVISORS, requires=divisor("floormod"),
    of_sizes=lambda x, y: x - _quotient_of_sizes(x, y) * y,
    grad=lambda g, y, a, b: (g, -g * floor_div(a, b)),
    interval=lambda y, a, b: (0, b[1] - 1) if b[0] > 0 else None,
)
def floormod(x: Any, y: Any) -> Any:
    """Remainder of `floor_div`: x - floor(x / y) * y, with the sign of y.

    >>> sg.Session().run(sg.mod([7, -7], 3))
    array([1, 2], dtype=int32)
    """
    return x % y


def _truncated(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return np.trunc(x / y)
    return _safe(_truncated_whole)(x, y)


def _truncated_whole(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    down = x // y  # of the least number, which has no opposite, too
    return down + ((x - down * y != 0) & ((x < 0) ^ (y < 0))).astype(x.dtype)


@elementwise(
    tf="TruncateDiv", numpy=_truncated, dtypes=REAL, primitive="truncdiv", differentiable=False,
    samples=DIVISORS, requires=divisor("truncatediv"), of_sizes=_truncated_of_sizes,
)
def truncatediv(x: Any, y: Any) -> Any:
    """x / y rounded towards zero, as in C: -7 / 2 gives -3.

    >>> sg.Session().run(sg.truncatediv([7, -7], 2))
    array([ 3, -3], dtype=int32)
    """
    return scalar.truncdiv(x, y)


@elementwise(
    tf="TruncateMod", numpy=lambda x, y: _safe(np.fmod)(x, y) if x.dtype.kind in "iu" else np.fmod(x, y),
    dtypes=REAL, primitive="truncmod", samples=DIVISORS, requires=divisor("truncatemod"),
    of_sizes=lambda x, y: x - _truncated_of_sizes(x, y) * y,
    grad=lambda g, y, a, b: (g, -g * truncatediv(a, b)),
)
def truncatemod(x: Any, y: Any) -> Any:
    """Remainder of `truncatediv`, with the sign of x, as in C.

    >>> sg.Session().run(sg.truncatemod([7, -7], 2))
    array([ 1, -1], dtype=int32)
    """
    return scalar.truncmod(x, y)


def _dtype_of(*values: Any) -> DType:
    """The dtype of the first tensor among `values`, or what the first would have as one."""
    for value in values:
        if isinstance(dtype := getattr(value, "dtype", None), DType):
            return dtype
    return infer_dtype(values[0])


@method("truediv")
def truediv(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y. Integers are converted first: of 8 and 16 bits to float32, wider ones to float64.

    >>> sg.Session().run(sg.truediv([7, -7], 2))
    array([ 3.5, -3.5])
    """
    dtype = _dtype_of(x, y)
    if not dtype.is_integer:
        return realdiv(x, y, name=name or "truediv")
    wide = float32 if dtype.size <= 2 else float64
    with scope(name or "truediv", x, y) as inner:
        return realdiv(cast(x, wide), cast(y, wide), name=inner)


def div(x: Any, y: Any, name: str | None = None) -> Any:
    """x / y as in Python 2: integers are divided with `floor_div`.

    >>> sg.Session().run(sg.div([7, -7], 2))
    array([ 3, -4], dtype=int32)
    """
    return (floor_div if _dtype_of(x, y).is_integer else realdiv)(x, y, name=name or "div")


method("floordiv")(partial(floor_div, name="floordiv"))
method("mod")(partial(floormod, name="mod"))
