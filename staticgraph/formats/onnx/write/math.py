"""Elementwise ops in ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import (
    UNSIGNED,
    DType,
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    uint32,
)
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import TensorType
from staticgraph.formats.onnx.write.rules import RULES, Use, direct, without, writes
from staticgraph.formats.onnx.write.value import Held, NoForm

# fmt: off
direct({
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "add": "Add", "asin": "Asin", "asinh": "Asinh",
    "atan": "Atan", "atanh": "Atanh", "barrier": "Identity", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh",
    "equal": "Equal", "erf": "Erf", "exp": "Exp", "floor": "Floor", "greater": "Greater",
    "greater_equal": "GreaterOrEqual",
    "is_nan": "IsNaN", "is_inf": "IsInf", "less": "Less", "less_equal": "LessOrEqual", "log": "Log",
    "logical_and": "And", "logical_not": "Not", "logical_or": "Or", "maximum": "Max", "minimum": "Min",
    "multiply": "Mul", "negative": "Neg", "pow": "Pow", "realdiv": "Div", "reciprocal": "Reciprocal",
    "rint": "Round", "round": "Round", "select": "Where", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin",
    "sinh": "Sinh", "sqrt": "Sqrt", "subtract": "Sub", "tan": "Tan", "tanh": "Tanh",
})
# fmt: on

without(
    "ONNX has no gamma functions",
    "lgamma digamma trigamma polygamma zeta igamma igammac igamma_grad_a random_gamma_grad betainc",
)
without("ONNX has no Bessel functions", "bessel_i0e bessel_i1e")
without("ONNX has nothing that tells the next number", "nextafter")
without("ONNX has no operator for a recurrence, which only derivatives have", "linear_recurrence")


@writes("add_n")
def _add_n(use: Use, *inputs: Held) -> Any:
    total = inputs[0]
    for each in inputs[1:]:
        total = total + each
    return total


@writes("rsqrt")
def _rsqrt(use: Use, x: Held) -> Any:
    return use("Reciprocal", use("Sqrt", x))


def _activation(operator: str) -> Any:
    """Return a rule that writes an op as `operator`, but for float64 as the op's formula.

    The operator may not be implemented for float64.
    """

    def rule(use: Use, x: Held, **attrs: Any) -> Any:
        return use.by_definition(x, **attrs) if x.dtype is float64 else use(operator, x, **attrs)

    return rule


for _name, _operator in {
    "elu": "Elu",
    "selu": "Selu",
    "leaky_relu": "LeakyRelu",
    "softplus": "Softplus",
    "softsign": "Softsign",
}.items():
    RULES[_name] = _activation(_operator)


@writes("relu")
def _relu(use: Use, features: Held) -> Any:
    return use("Relu", features) if use.dtype.is_floating else use.by_definition(features)


@writes("relu6")
def _relu6(use: Use, features: Held) -> Any:
    if use.dtype.size != 4 or not use.dtype.is_floating:
        return use.by_definition(features)
    return use("Clip", features, use.constant(0, use.dtype), use.constant(6, use.dtype))


@writes("not_equal")
def _not_equal(use: Use, x: Held, y: Held) -> Any:
    return use("Not", use("Equal", x, y))


@writes("cast")
def _cast(use: Use, x: Held, dtype: DType) -> Any:
    if dtype.is_complex:
        raise NoForm("ONNX's operators do not take complex numbers")
    small = dtype.is_unsigned or (dtype.is_integer and dtype.size < 4)
    if x.dtype.is_floating and small:
        x = _within(x, dtype)
    return use("Cast", x, to=dtype)


_DIGITS = {bfloat16: 8, float16: 11, float32: 24, float64: 53}  # binary ones that the types keep


def _within(x: Held, dtype: DType) -> Any:
    """The nearest number that an integer type can hold: what `Cast` makes of others, ONNX leaves open."""
    x = ops.maximum(x, max(float(dtype.min), float(x.dtype.min)))
    if float(dtype.max) >= float(x.dtype.max):
        return x
    high = float(x.dtype.round(float(dtype.max)))
    if high > int(dtype.max):  # it was rounded up
        high *= 1 - 2.0 ** -_DIGITS[x.dtype]
    return ops.minimum(x, high)


@writes("fma")
def _fma(use: Use, x: Held, y: Held, z: Held) -> Any:
    return x * y + z


@writes("erfc")
def _erfc(use: Use, x: Held) -> Any:
    return 1 - ops.erf(x)


@writes("expm1")
def _expm1(use: Use, x: Held) -> Any:
    """Near 0 by t = tanh(x / 2), which loses no digits there: exp(x) - 1 = 2t / (1 - t)."""
    half = ops.tanh(ops.minimum(ops.maximum(x, -1), 1) * 0.5)
    return ops.select(ops.abs(x) < 1, 2 * half / (1 - half), ops.exp(x) - 1)


@writes("log1p")
def _log1p(use: Use, x: Held) -> Any:
    """Divide by (1 + x) - 1, which has lost the same digits as 1 + x, so that the errors cancel."""
    sum_ = 1 + x
    lost = sum_ - 1
    near = ops.equal(lost, 0)
    quotient = ops.log(sum_) * (x / ops.select(near, 1, lost))
    return ops.select(near, x, ops.select(ops.equal(sum_, np.inf), x, quotient))


@writes("atan2")
def _atan2(use: Use, y: Held, x: Held) -> Any:
    on_axis = ops.equal(x, 0)
    angle = ops.atan(y / ops.select(on_axis, 1, x))
    turned = ops.select(_is_negative(y), angle - np.pi, angle + np.pi)
    half = ops.sign(y) * (np.pi / 2)
    return ops.select(on_axis, half, ops.select(x < 0, turned, angle))


@writes("copysign")
def _copysign(use: Use, x: Held, sign_of: Held) -> Any:
    size = ops.abs(x)
    return ops.select(_is_negative(sign_of), -size, size)


def _is_negative(x: Held) -> Any:
    """Return a mask of the negative elements. -0 is one of them, since its reciprocal is negative."""
    return ops.logical_or(x < 0, ops.reciprocal(x) < 0)


@writes("is_finite")
def _is_finite(use: Use, x: Held) -> Any:
    return ops.logical_not(ops.logical_or(ops.is_nan(x), ops.is_inf(x)))


def _safe(y: Held) -> tuple[Any, Any]:
    """A divisor without zeros, which would stop the program; and where there were some, None if nowhere."""
    if y.constant is not None and y.constant.all():
        return y, None
    zero = ops.equal(y, 0)
    return ops.select(zero, 1, y), zero


def _guarded(zero: Any, value: Any) -> Any:
    return value if zero is None else ops.select(zero, 0, value)


@writes("floormod")
def _floormod(use: Use, x: Held, y: Held) -> Any:
    if not use.dtype.is_integer:
        rest = use("Mod", x, y, fmod=1)
        outside = ops.logical_and(ops.not_equal(rest, 0), ops.not_equal(rest < 0, y < 0))
        return ops.select(outside, rest + y, rest)
    divisor, zero = _safe(y)
    return _guarded(zero, use("Mod", x, divisor))


@writes("floor_div")
def _floor_div(use: Use, x: Held, y: Held) -> Any:
    if not use.dtype.is_integer:
        return ops.floor(use("Div", x, y))
    divisor, zero = _safe(y)
    return _guarded(zero, use("Div", x - use("Mod", x, divisor), divisor))


@writes("truncatediv")
def _truncatediv(use: Use, x: Held, y: Held) -> Any:
    if not use.dtype.is_integer:
        quotient = use("Div", x, y)
        return ops.select(quotient < 0, ops.ceil(quotient), ops.floor(quotient))
    divisor, zero = _safe(y)
    return _guarded(zero, use("Div", x, divisor))


@writes("truncatemod")
def _truncatemod(use: Use, x: Held, y: Held) -> Any:
    if not use.dtype.is_integer:
        return use("Mod", x, y, fmod=1)
    divisor, zero = _safe(y)
    return _guarded(zero, use("Mod", x, divisor, fmod=1))


def _bits(of_bits: str, of_truth: str) -> Any:
    def rule(use: Use, *inputs: Held) -> Any:
        return use(of_truth if use.dtype is bool_ else of_bits, *inputs)

    return rule


RULES["bitwise_and"] = _bits("BitwiseAnd", "And")
RULES["bitwise_or"] = _bits("BitwiseOr", "Or")
RULES["bitwise_xor"] = _bits("BitwiseXor", "Xor")
RULES["invert"] = _bits("BitwiseNot", "Not")


def _shifted(use: Use, x: Held, y: Held, direction: str) -> Any:
    """Shift the bits of an unsigned number by `y`, at most by the width of the type."""
    dtype, unsigned = x.dtype, UNSIGNED[x.dtype.size]
    by = ops.cast(ops.minimum(ops.maximum(y, 0), dtype.size * 8 - 1), dtype=unsigned)
    type = TensorType(unsigned, use.type.shape)
    if dtype.size == 2:  # onnxruntime shifts none of 16 bits
        unsigned, by, type = uint32, ops.cast(by, dtype=uint32), TensorType(uint32, use.type.shape)
    moved = use("BitShift", ops.cast(x, dtype=unsigned), by, type=type, direction=direction)
    return ops.cast(moved, dtype=dtype)


@writes("left_shift")
def _left_shift(use: Use, x: Held, y: Held) -> Any:
    return _shifted(use, x, y, "LEFT")


@writes("right_shift")
def _right_shift(use: Use, x: Held, y: Held) -> Any:
    """The bits of a negative number move inverted, as those of a positive one."""
    if x.dtype.is_unsigned:
        return _shifted(use, x, y, "RIGHT")
    negative = x < 0
    moved = _shifted(use, ops.select(negative, ops.invert(x), x), y, "RIGHT")
    return ops.select(negative, ops.invert(moved), moved)


@writes("bitcast")
def _bitcast(use: Use, input: Held, type: DType) -> Any:
    if type is input.dtype:
        return input
    same_bits = input.dtype.is_integer and type.is_integer
    if not same_bits:
        raise NoForm("ONNX has nothing that reads bits as another type")
    return use("Cast", input, to=type)


@writes("bias_add", keeps_order=True)
def _bias_add(use: Use, value: Held, bias: Held, data_format: str) -> Any:
    if data_format.startswith("NC") and value.rank > 2:
        bias = ops.reshape(bias, shape=(bias.shape[0], *(1,) * (value.rank - 2)))
    return value + bias


@writes("zeros_like", "ones_like")
def _filled_like(use: Use, x: Held) -> Any:
    value = use.constant(0 if use.op.name == "zeros_like" else 1, x.dtype)
    return ops.broadcast_to(value, shape=x.shape)
