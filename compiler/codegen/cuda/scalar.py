"""The scalar primitives in CUDA C: an expression for each of them, over registers.

The record of a primitive has its text. float16 and bfloat16 are computed in float, and each result is made
to fit the type.
"""

from __future__ import annotations

import math
import re

import numpy as np

from staticgraph.compiler.codegen.cuda.function import C_TYPES
from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float64
from staticgraph.compiler.kernel.primitives.functions import PRIMITIVES


def apply(op: str, dtype: DType, *operands: str) -> str:
    """The primitive `op` of operands of a dtype; the condition of a `select` is a truth value instead."""
    primitive = PRIMITIVES[op]
    text = primitive.cuda.of(dtype)
    if text is None:
        raise TypeError(f"there is no such operation on {dtype.name}: {op}")
    result = text.format(*operands, f="" if dtype is float64 else "f", half=C_TYPES[dtype.name])
    return result if primitive.exact else fitting(dtype, result)


def has_text(op: str, dtype: DType) -> bool:
    """Return True if `apply` can write a primitive; otherwise it has a formula."""
    return PRIMITIVES[op].cuda.of(dtype) is not None


def convert(op: str, source: DType, to: DType, operand: str) -> str:
    """`cast` or `bitcast` of an operand."""
    return (_cast if op == "cast" else _bitcast)(source, operand, to)


def fitting(dtype: DType, value: str) -> str:
    """A value in a register, made to fit the dtype where that has fewer bits."""
    return f"rounded<{C_TYPES[dtype.name]}>({value})" if _is_half(dtype) else value


def constant(value: float, dtype: DType) -> str:
    """A number of a dtype, exactly.

    >>> from staticgraph.compiler.graph.dtypes import float32, int64
    >>> constant(0.1, float32), constant(-math.inf, float64), constant(-(2**63), int64)
    ('0x1.99999ap-4f', 'bits_as<double>(0xfff0000000000000ull)', 'int64_t(0x8000000000000000ull)')
    """
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.is_integer:
        return _integer(int(value), dtype)
    number = float(dtype.round(value))
    if not math.isfinite(number):
        if dtype is float64:
            return f"bits_as<double>({np.float64(number).view(np.uint64):#x}ull)"
        return f"bits_as<float>({np.float32(number).view(np.uint32):#x}u)"
    whole = number == int(number) and abs(number) < 2**24
    text = repr(number) if whole else re.sub(r"\.?0*p", "p", number.hex())
    text = text if dtype is float64 else f"{text}f"
    return f"({text})" if text.startswith("-") else text


def _integer(value: int, dtype: DType) -> str:
    kind = C_TYPES[dtype.name]
    if dtype.size == 4:
        text = f"{value}u" if dtype.is_unsigned else str(value)
        return "int32_t(0x80000000u)" if value == -(2**31) else f"({text})" if value < 0 else text
    if dtype.size == 8 and not -(2**31) < value < 2**31:
        return f"{kind}({value & (2**64 - 1):#x}ull)"
    return f"{kind}({value})"


def _is_half(dtype: DType) -> bool:
    return dtype is float16 or dtype is bfloat16


def _cast(source: DType, value: str, to: DType) -> str:
    """Floating to integer goes towards zero and saturates; NaN becomes 0."""
    if source is to:
        return value
    if to.is_bool:
        return f"{value} != {constant(0, source)}"
    kind = register_type(to)
    if source.is_floating and to.is_integer:
        return f"saturated<{kind}>({value})"
    if _is_half(to):
        if source is float64:
            value = f"to_odd({value})" if to is float16 else f"float({value})"
        return fitting(to, value if source.is_floating else f"float({value})")
    return f"{kind}({value})"


def _bitcast(source: DType, value: str, to: DType) -> str:
    """The bits of a value in memory, read as another dtype of the same size."""
    if source is to:
        return value
    return loaded(to, f"bits_as<{C_TYPES[to.name]}>({stored(source, value)})")


def stored(dtype: DType, value: str) -> str:
    """A value as memory has it."""
    return f"from_float<{C_TYPES[dtype.name]}>({value})" if _is_half(dtype) else value


def loaded(dtype: DType, element: str) -> str:
    """An element of memory as registers have it."""
    return f"to_float({element})" if _is_half(dtype) else element
