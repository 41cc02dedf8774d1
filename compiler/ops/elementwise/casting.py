"""Conversions between element types."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import (
    ANY,
    COMPLEX,
    DType,
    as_dtype,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint8,
    uint16,
)
from staticgraph.compiler.graph.errors import DtypeError, require
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.ops.kinds import elementwise
from staticgraph.compiler.ops.samples import Draw, Sample, reals

_TARGETS = (bool_, int8, int32, int64, uint8, uint16, float16, bfloat16, float32, float64)


def _cast_type(x: TensorType, dtype: Any) -> DType:
    target = as_dtype(dtype)
    require(target in ANY, f"numbers cannot become {target}", "strings.as_string writes numbers", DtypeError)
    return target


def _converted(x: np.ndarray, dtype: DType) -> np.ndarray:
    if x.dtype.kind == "c" and not dtype.is_complex:
        x = x != 0 if dtype.is_bool else x.real
    if x.dtype.kind != "f" or not dtype.is_integer:
        return dtype.round(x)
    # Whole numbers of 64 bits are not all float64 numbers, so the two ends are put in place as integers.
    inside = np.where((x > dtype.min) & (x < dtype.max), x, 0).astype(dtype.numpy)
    low, high = (dtype.numpy.type(end) for end in (dtype.min, dtype.max))
    return np.where(x >= high, high, np.where(x <= low, low, inside))


def _cast_static(types: list[TensorType], values: list[Any], dtype: DType) -> Any:
    """A shape of which only some sizes are known keeps them."""
    return values[0] if isinstance(values[0], tuple) and dtype.is_integer else None


def _cast_grad(g: Any, y: Any, x: Any, dtype: DType) -> tuple[Any]:
    return (cast(g, x.dtype) if y.dtype.is_differentiable else None,)


@elementwise(
    tf="Cast", numpy=_converted, result=_cast_type, dtypes=ANY, primitive="cast", grad=_cast_grad,
    static=_cast_static, of_sizes=lambda x, dtype: x,
    samples=reals(-3, 3, attrs=[{"dtype": d} for d in _TARGETS]),
    interval=lambda y, *x: x[0] if x else None, cheap=True,
)
def cast(x: Any, *, dtype: DType) -> Any:
    """x as numbers of another type.

    Floating numbers become integers by cutting off what follows the point; what is out of range becomes the
    nearest integer of the type, and NaN becomes 0. Integers lose the bits that do not fit. Anything but 0 is
    True. Complex numbers lose their imaginary part.
    """
    return scalar.cast(x, dtype)


def _bitcast_type(input: TensorType, type: Any) -> DType:
    target = as_dtype(type)
    require(target in ANY, f"bits cannot become {target}", kind=DtypeError)
    require(
        input.dtype.size == target.size,
        f"{input.dtype} has {input.dtype.size} bytes and {target} has {target.size}",
        hint="bitcast between types of one size",
        kind=DtypeError,
    )
    return target


def _same_bits(input: np.ndarray, type: DType) -> np.ndarray:
    if input.dtype.itemsize != type.size:  # bfloat16, carried as float32
        input = (np.asarray(input, order="C").view(np.uint32) >> 16).astype(np.uint16)
    if type is bfloat16:
        return (input.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return input.view(type.numpy)


_BITCASTS = (
    [(float32, int32), (int32, float32), (float64, int64)]
    + [(bfloat16, uint16), (float16, bfloat16), (int8, uint8)]
)


@elementwise(
    tf="Bitcast", numpy=_same_bits, result=_bitcast_type, dtypes=ANY - COMPLEX, primitive="bitcast",
    differentiable=False, no_gradient_known=True,
    samples=[Sample(Draw(s, 0, 100, dtype=a.name), type=b) for a, b in _BITCASTS for s in ((2, 3), (), (0,))],
)
def bitcast(input: Any, *, type: DType) -> Any:
    """The bits of the input read as another type of the same size."""
    return scalar.bitcast(input, type)
