"""Operators that compute each element by itself."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from staticgraph.compiler import ops
from staticgraph.compiler.graph.dtypes import DType, float32, float64
from staticgraph.compiler.graph.tensor import Tensor
from staticgraph.formats.onnx.nodes import Node, operator
from staticgraph.formats.onnx.values import cast, constant, reshape, select, sizes

# fmt: off
_UNARY: dict[str, str] = {
    "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
    "Atanh": "atanh", "BitwiseNot": "invert", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf",
    "Exp": "exp", "Floor": "floor", "IsNaN": "is_nan", "Log": "log", "Neg": "negative", "Not": "logical_not",
    "Reciprocal": "reciprocal", "Relu": "relu", "Round": "rint", "Sigmoid": "sigmoid", "Sign": "sign",
    "Sin": "sin", "Sinh": "sinh", "Softplus": "softplus", "Softsign": "softsign", "Sqrt": "sqrt",
    "Tan": "tan", "Tanh": "tanh",
}
# fmt: on
# fmt: off
_BINARY: dict[str, str] = {
    "Add": "add", "BitwiseAnd": "bitwise_and", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
    "Equal": "equal", "Greater": "greater", "GreaterOrEqual": "greater_equal", "Less": "less",
    "LessOrEqual": "less_equal", "And": "logical_and", "Mul": "multiply", "Or": "logical_or",
    "Sub": "subtract", "Xor": "not_equal",
}
# fmt: on
_OF_SEVERAL: dict[str, str] = {"Max": "maximum", "Min": "minimum", "Sum": "add"}


@operator(*_UNARY)
def _unary(node: Node, x: Tensor) -> Tensor:
    return getattr(ops, _UNARY[node.type])(x)


@operator(*_BINARY)
def _binary(node: Node, x: Tensor, y: Tensor) -> Tensor:
    return getattr(ops, _BINARY[node.type])(x, aligned(node, x, y))


@operator("Div")
def _div(node: Node, x: Tensor, y: Tensor) -> Tensor:
    return (ops.truncatediv if x.dtype.is_integer else ops.realdiv)(x, aligned(node, x, y))


def aligned(node: Node, x: Tensor, y: Tensor) -> Tensor:
    """The second input, with the axes that it has in the first versions put where `axis` says."""
    axis = node.get("axis")
    if node.version >= 7 or not node.get("broadcast") or axis is None:
        return y
    after = node.rank(x) - node.axis(axis, x) - node.rank(y)
    return reshape(y, sizes(y) + [1] * after) if after > 0 else y


@operator(*_OF_SEVERAL)
def _of_several(node: Node, *values: Tensor) -> Tensor:
    return functools.reduce(getattr(ops, _OF_SEVERAL[node.type]), values)


@operator("Mean")
def _mean(node: Node, *values: Tensor) -> Tensor:
    return functools.reduce(ops.add, values) / constant(len(values), values[0])


@operator("Mod")
def _mod(node: Node, x: Tensor, y: Tensor) -> Tensor:
    return (ops.truncatemod if node.get("fmod") else ops.floormod)(x, y)


@operator("Pow")
def _pow(node: Node, x: Tensor, y: Tensor) -> Tensor:
    y = aligned(node, x, y)
    if x.dtype is y.dtype or x.dtype.is_floating:
        return ops.pow(x, cast(y, x.dtype))
    if y.dtype.is_floating:
        return cast(ops.pow(cast(x, y.dtype), y), x.dtype)
    return ops.pow(x, cast(y, x.dtype))


@operator("BitShift")
def _bit_shift(node: Node, x: Tensor, y: Tensor) -> Tensor:
    """Bits that are moved out are lost: by the width of the type, or by less than 0, all but the sign."""
    left = node.required("direction") == "LEFT"
    moved = (ops.left_shift if left else ops.right_shift)(x, y)
    possible = y < constant(8 * x.dtype.size, y)
    if not y.dtype.is_unsigned:
        possible = ops.logical_and(possible, y >= constant(0, y))
    signs = not left and not x.dtype.is_unsigned
    nothing = ops.right_shift(x, constant(8 * x.dtype.size - 1, x)) if signs else ops.zeros_like(x)
    return select(possible, moved, nothing)


# Types


@operator("Cast")
def _cast(node: Node, x: Tensor) -> Tensor:
    return converted(x, node.element_type(node.required("to")))


@operator("CastLike")
def _cast_like(node: Node, x: Tensor, like: Tensor) -> Tensor:
    return converted(x, like.dtype)


def converted(x: Tensor, dtype: DType) -> Tensor:
    """Convert `x` to another type; text is read as numbers, and numbers are written as text."""
    if x.dtype.kind == "string" and dtype.kind != "string":
        return cast(ops.string_to_number(x, out_type=float64), dtype)
    if dtype.kind == "string" and x.dtype.kind != "string":
        return ops.as_string(x)
    return cast(x, dtype)


@operator("BitCast")
def _bit_cast(node: Node, x: Tensor) -> Tensor:
    return ops.bitcast(x, type=node.element_type(node.required("to")))


@operator("Binarizer", domain="ai.onnx.ml")
def _binarizer(node: Node, x: Tensor) -> Tensor:
    return cast(x > constant(node.get("threshold", 0.0), x), x.dtype)


@operator("IsInf")
def _is_inf(node: Node, x: Tensor) -> Tensor:
    found = ops.is_inf(x)
    if not node.get("detect_negative", 1):
        found = ops.logical_and(found, x > constant(0, x))
    if not node.get("detect_positive", 1):
        found = ops.logical_and(found, x < constant(0, x))
    return found


@operator("Where")
def _where(node: Node, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return select(condition, x, y)


@operator("Clip")
def _clip(node: Node, x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    if node.version < 11:
        low, high = (
            None if node.get(name) is None else constant(node.get(name), x) for name in ("min", "max")
        )
    x = x if low is None else ops.maximum(x, low)
    return x if high is None else ops.minimum(x, high)


# Activations. Those with parameters: the formula, and the parameters with their defaults.

_Formula = Callable[..., Tensor]


def _constants(x: Tensor, *values: float) -> list[Tensor]:
    return [constant(value, x) for value in values]


def _elu(x: Tensor, alpha: float) -> Tensor:
    zero, a = _constants(x, 0, alpha)
    return select(x < zero, a * ops.expm1(ops.minimum(x, zero)), x)


def _selu(x: Tensor, alpha: float, gamma: float) -> Tensor:
    return constant(gamma, x) * _elu(x, alpha)


def _celu(x: Tensor, alpha: float) -> Tensor:
    zero, a = _constants(x, 0, alpha)
    return ops.maximum(x, zero) + ops.minimum(zero, a * ops.expm1(x / a))


def _hard_sigmoid(x: Tensor, alpha: float, beta: float) -> Tensor:
    zero, one, a, b = _constants(x, 0, 1, alpha, beta)
    return ops.maximum(zero, ops.minimum(one, a * x + b))


def _leaky_relu(x: Tensor, alpha: float) -> Tensor:
    return select(x < constant(0, x), constant(alpha, x) * x, x)


def _thresholded(x: Tensor, alpha: float) -> Tensor:
    return select(x > constant(alpha, x), x, ops.zeros_like(x))


def _swish(x: Tensor, alpha: float) -> Tensor:
    return x * ops.sigmoid(constant(alpha, x) * x)


def _shrink(x: Tensor, lambd: float, bias: float) -> Tensor:
    edge, shift = (constant(v, float32 if x.dtype.is_integer else x) for v in (lambd, bias))
    real = cast(x, edge.dtype)
    inner = select(real > edge, real - shift, ops.zeros_like(real))
    return cast(select(real < -edge, real + shift, inner), x.dtype)


FORMULAS: dict[str, tuple[_Formula, dict[str, float]]] = {
    "Affine": (
        lambda x, alpha, beta: constant(alpha, x) * x + constant(beta, x),
        {"alpha": 1.0, "beta": 0.0},
    ),
    "Celu": (_celu, {"alpha": 1.0}),
    "Elu": (_elu, {"alpha": 1.0}),
    "HardSigmoid": (_hard_sigmoid, {"alpha": 0.2, "beta": 0.5}),
    "LeakyRelu": (_leaky_relu, {"alpha": 0.01}),
    "ScaledTanh": (
        lambda x, alpha, beta: constant(alpha, x) * ops.tanh(constant(beta, x) * x),
        {"alpha": 1.0, "beta": 1.0},
    ),
    "Selu": (_selu, {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}),
    "Shrink": (_shrink, {"lambd": 0.5, "bias": 0.0}),
    "Swish": (_swish, {"alpha": 1.0}),
    "ThresholdedRelu": (_thresholded, {"alpha": 1.0}),
}


@operator(*FORMULAS)
def _formula(node: Node, x: Tensor) -> Tensor:
    formula, parameters = FORMULAS[node.type]
    return formula(x, **{name: node.get(name, default) for name, default in parameters.items()})


@operator("HardSwish")
def _hard_swish(node: Node, x: Tensor) -> Tensor:
    return x * _hard_sigmoid(x, 1 / 6, 0.5)


@operator("Mish")
def _mish(node: Node, x: Tensor) -> Tensor:
    return x * ops.tanh(ops.softplus(x))


@operator("Gelu")
def _gelu(node: Node, x: Tensor) -> Tensor:
    half, one, cubic = _constants(x, 0.5, 1, 0.044715)
    if node.get("approximate", "none") == "tanh":
        return half * x * (one + ops.tanh(constant(math.sqrt(2 / math.pi), x) * (x + cubic * x * x * x)))
    return half * x * (one + ops.erf(x * constant(math.sqrt(0.5), x)))


@operator("SwiGLU")
def _swiglu(node: Node, a: Tensor, b: Tensor) -> Tensor:
    return _swish(a, node.get("alpha", 1.0)) * b


@operator("PRelu")
def _prelu(node: Node, x: Tensor, slope: Tensor) -> Tensor:
    if node.version < 7 and node.rank(slope) == 1 and node.rank(x) > 2 and slope.type.shape != (1,):
        slope = reshape(slope, sizes(slope) + [1] * (node.rank(x) - 2))
    return select(x < constant(0, x), slope * x, x)
