"""The scalar primitives in CUDA C: an expression for each of them, over registers.

`TABLE` has a row for every primitive of `kernel/scalar.py`. A row gets the dtype of the operands and their
texts. float16 and bfloat16 are computed in float, and each result is made to fit the type.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from staticgraph.compiler.codegen.cuda.function import C_TYPES
from staticgraph.compiler.codegen.cuda.prelude import register_type
from staticgraph.compiler.graph.dtypes import DType, bfloat16, float16, float64

Row = Callable[..., str]


def apply(op: str, dtype: DType, *operands: str) -> str:
    """The primitive `op` of operands of a dtype; the condition of a `select` is a truth value instead."""
    result = TABLE[op](dtype, *operands)
    return fitting(dtype, result) if op not in _EXACT else result


def convert(op: str, source: DType, to: DType, operand: str) -> str:
    """`cast` or `bitcast` of an operand."""
    return TABLE[op](source, operand, to)


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


def _operator(symbol: str, boolean: str = "", integer: str = "") -> Row:
    """Floats and truth values have operators; integers have a function where an operator could overflow."""

    def row(dtype: DType, a: str, b: str) -> str:
        used = boolean if dtype.is_bool else symbol
        if not used:
            raise TypeError(f"there is no such operation on {dtype.name}")
        if dtype.is_integer and integer:
            return f"{integer}({a}, {b})"
        return f"{a} {used} {b}"

    return row


def _function(name: str) -> Row:
    """A function of the C library, which has a name of its own for float."""
    return lambda dtype, *operands: f"{name}{'' if dtype is float64 else 'f'}({', '.join(operands)})"


def _rounding(name: str) -> Row:
    function = _function(name)
    return lambda dtype, a: function(dtype, a) if dtype.is_floating else a


def _by_kind(floating: Row, integer: str) -> Row:
    def row(dtype: DType, *operands: str) -> str:
        return floating(dtype, *operands) if dtype.is_floating else f"{integer}({', '.join(operands)})"

    return row


def _quotient(rounding: str) -> Row:
    """NumPy rounds a quotient to float16 before it goes on, but carries bfloat16 in float32."""
    function = _function(rounding)

    def row(dtype: DType, a: str, b: str) -> str:
        quotient = f"{a} / {b}"
        return function(dtype, fitting(dtype, quotient) if dtype is float16 else quotient)

    return row


def _div(dtype: DType, a: str, b: str) -> str:
    if not dtype.is_floating:
        raise TypeError(f"there is no such operation on {dtype.name}")
    return f"{a} / {b}"


def _fma(dtype: DType, a: str, b: str, c: str) -> str:
    """Fused, always: formulas count on the exact product."""
    if dtype.is_floating:
        return _function("fma")(dtype, a, b, c)
    return apply("add", dtype, apply("mul", dtype, a, b), c)


def _neg(dtype: DType, a: str) -> str:
    return f"-{a}" if dtype.is_floating else f"wrap_neg({a})"


def _abs(dtype: DType, a: str) -> str:
    if dtype.is_floating:
        return _function("fabs")(dtype, a)
    return a if dtype.is_unsigned or dtype.is_bool else f"wrap_abs({a})"


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


def _without_form(dtype: DType, *operands: str) -> str:
    """Neither the card nor the processor has this function: `kernel/approximate` has a formula."""
    raise TypeError(f"no function for {dtype.name}: it is approximated before it is printed")


_LIBRARY = (
    "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "sqrt", "copysign",
)  # fmt: skip
_EXACT = frozenset({
    "minimum", "maximum", "neg", "abs", "copysign", "floor", "ceil", "rint", "truncmod",
    "eq", "ne", "lt", "le", "gt", "ge", "select", "and", "or", "xor", "invert",
})  # fmt: skip

TABLE: dict[str, Row] = {
    "add": _operator("+", "||", "wrap_add"),
    "sub": _operator("-", "", "wrap_sub"),
    "mul": _operator("*", "&&", "wrap_mul"),
    "div": _div,
    "floordiv": _by_kind(_quotient("floor"), "floor_div"),
    "floormod": lambda dtype, a, b: f"floor_mod({a}, {b})",
    "truncdiv": _by_kind(_quotient("trunc"), "trunc_div"),
    "truncmod": _by_kind(_function("fmod"), "trunc_mod"),
    "pow": _by_kind(_function("pow"), "power"),
    "minimum": lambda dtype, a, b: f"minimum({a}, {b})",
    "maximum": lambda dtype, a, b: f"maximum({a}, {b})",
    "fma": _fma,
    "neg": _neg,
    "abs": _abs,
    "floor": _rounding("floor"),
    "ceil": _rounding("ceil"),
    "rint": _rounding("rint"),
    "and": _operator("&", "&"),
    "or": _operator("|", "|"),
    "xor": _operator("^", "^"),
    "invert": lambda dtype, a: f"!{a}" if dtype.is_bool else f"~{a}",
    "shl": lambda dtype, a, b: f"shift_left({a}, {b})",
    "shr": lambda dtype, a, b: f"shift_right({a}, {b})",
    "eq": _operator("==", "=="),
    "ne": _operator("!=", "!="),
    "lt": _operator("<", "<"),
    "le": _operator("<=", "<="),
    "gt": _operator(">", ">"),
    "ge": _operator(">=", ">="),
    "select": lambda dtype, condition, a, b: f"{condition} ? {a} : {b}",
    "cast": _cast,
    "bitcast": _bitcast,
    "digamma": _without_form,
    **{name: _function(name) for name in _LIBRARY},
}
