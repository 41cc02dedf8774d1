"""Operations on the bits of integers; on truth values where they mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import BOOLEAN, INTEGER
from staticgraph.compiler.graph.opdef import method
from staticgraph.compiler.graph.sizes import AnySize, Size
from staticgraph.compiler.ops.kinds import elementwise
from staticgraph.compiler.ops.samples import reals

BITS = INTEGER | BOOLEAN


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


@elementwise(
    tf="BitwiseAnd", numpy=np.bitwise_and, dtypes=BITS, primitive="and", commutes=True, differentiable=False,
    samples=reals(-100, 100), of_sizes=_masked,
)
def bitwise_and(x: Any, y: Any) -> Any:
    """The bits that are set in both x and y.

    >>> sg.Session().run(sg.bitwise.bitwise_and([12, 7], [10, 1]))
    array([8, 1], dtype=int32)
    """
    return x & y


@elementwise(
    tf="BitwiseOr", numpy=np.bitwise_or, dtypes=BITS, primitive="or", commutes=True, differentiable=False,
    samples=reals(-100, 100),
)
def bitwise_or(x: Any, y: Any) -> Any:
    """The bits that are set in x or y or both.

    >>> sg.Session().run(sg.bitwise.bitwise_or([12, 7], [10, 1]))
    array([14,  7], dtype=int32)
    """
    return x | y


@elementwise(
    tf="BitwiseXor", numpy=np.bitwise_xor, dtypes=BITS, primitive="xor", commutes=True, differentiable=False,
    samples=reals(-100, 100),
)
def bitwise_xor(x: Any, y: Any) -> Any:
    """The bits in which x and y differ.

    >>> sg.Session().run(sg.bitwise.bitwise_xor([12, 7], [10, 1]))
    array([6, 6], dtype=int32)
    """
    return x ^ y


@elementwise(
    tf="Invert", numpy=np.invert, dtypes=BITS, primitive="invert", differentiable=False,
    samples=reals(-100, 100),
)
def invert(x: Any) -> Any:
    """The bits of x, each flipped.

    >>> sg.Session().run(sg.bitwise.invert([0, 1]))
    array([-1, -2], dtype=int32)
    """
    return ~x


def _amount(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.clip(y, 0, 8 * x.dtype.itemsize - 1).astype(y.dtype)


def _power_of_two(exponent: AnySize) -> int:
    if isinstance(exponent, Size) or not 0 <= exponent < 31:
        raise TypeError("this shift of a size is no size")
    return 1 << exponent


@method("lshift")
@elementwise(
    tf="LeftShift", numpy=lambda x, y: np.left_shift(x, _amount(x, y)), dtypes=INTEGER, primitive="shl",
    differentiable=False, samples=reals(-100, 100, (-2, 70)), of_sizes=lambda x, y: x * _power_of_two(y),
)
def left_shift(x: Any, y: Any) -> Any:
    """x * 2 ** y without the bits that do not fit; y is clamped to what the type can be shifted by.

    >>> sg.Session().run(sg.bitwise.left_shift([1, 3], [2, 1]))
    array([4, 6], dtype=int32)
    """
    return x << y


@method("rshift")
@elementwise(
    tf="RightShift", numpy=lambda x, y: np.right_shift(x, _amount(x, y)), dtypes=INTEGER, primitive="shr",
    differentiable=False, samples=reals(-100, 100, (-2, 70)), of_sizes=lambda x, y: x // _power_of_two(y),
)
def right_shift(x: Any, y: Any) -> Any:
    """x / 2 ** y rounded down; y is clamped to what the type can be shifted by.

    >>> sg.Session().run(sg.bitwise.right_shift([8, -8], [2, 2]))
    array([ 2, -2], dtype=int32)
    """
    return x >> y
