"""The scalar primitives, and the three readings of a scalar body.

The body of an elementwise op is a formula over scalars. The same formula is read three ways, by what its
arguments are: kernel expressions give a kernel expression, tensors give graph operations (used to
differentiate the body), and anything else gives a NumPy value.

>>> import numpy as np
>>> from staticgraph.compiler.kernel import scalar
>>> float(scalar.exp(0.0))
1.0
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from staticgraph.compiler.graph.dtypes import DType, bool_
from staticgraph.compiler.kernel import expr as _expr
from staticgraph.compiler.kernel.expr import Const, Expr, Scalar
from staticgraph.compiler.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Primitive:
    """A scalar operation that every code generator knows."""

    name: str
    arity: int
    numpy: Callable[..., Any]
    predicate: bool = False  # the result is bool; otherwise it has the dtype of the last argument


def _erf_family(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A `math` function for arrays: NumPy has no erf, erfc and lgamma of its own."""

    def of_array(x: Any) -> Any:
        x = np.asarray(x)
        return np.vectorize(function, otypes=[np.float64])(x.astype(np.float64)).astype(x.dtype)

    return of_array


def _lgamma(x: float) -> float:
    """log(|gamma(x)|), infinite at the poles and at -inf."""
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


def _digamma(x: float) -> float:
    """The derivative of lgamma: recurrence up to x >= 10, then the asymptotic series; reflection below 0."""
    if math.isnan(x) or x == -math.inf or (x <= 0 and x == math.floor(x)):
        return math.nan
    if x == math.inf:
        return math.inf
    if x < 0:
        return _digamma(1 - x) - math.pi / math.tan(math.pi * x)
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    z = 1 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - series


def _integers(of_integers: Callable[..., Any], of_floats: Callable[..., Any]) -> Callable[..., Any]:
    """Integer operands go one way, others another; a zero integer divisor gives 0 rather than a trap."""

    def divide(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        if not np.issubdtype(np.result_type(a, b), np.integer):
            return of_floats(a, b)
        safe = np.where(b == 0, np.ones_like(b), b)
        return np.where(b == 0, np.zeros_like(a), of_integers(a, safe))

    return divide


def _truncated_quotient(a: Any, b: Any) -> Any:
    return np.floor_divide(a, b) + ((np.mod(a, b) != 0) & ((a < 0) != (b < 0))).astype(np.result_type(a, b))


def _shift(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """Shift amounts outside 0..width-1 are clamped into it, where C and NumPy leave them undefined."""

    def shift(a: Any, b: Any) -> Any:
        a, b = np.asarray(a), np.asarray(b)
        return ufunc(a, np.clip(b, 0, a.dtype.itemsize * 8 - 1).astype(b.dtype))

    return shift


def _power(a: Any, b: Any) -> Any:
    a, b = np.asarray(a), np.asarray(b)
    if not np.issubdtype(np.result_type(a, b), np.signedinteger):
        return np.power(a, b)
    reciprocal = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0)).astype(a.dtype)
    return np.where(b < 0, reciprocal, np.power(a, np.maximum(b, 0)))


PRIMITIVES: dict[str, Primitive] = {
    p.name: p
    for p in (
        Primitive("add", 2, np.add),
        Primitive("sub", 2, np.subtract),
        Primitive("mul", 2, np.multiply),
        Primitive("div", 2, np.true_divide),  # floating only
        Primitive("floordiv", 2, _integers(np.floor_divide, lambda a, b: np.floor(np.true_divide(a, b)))),
        Primitive("floormod", 2, _integers(np.mod, np.mod)),
        Primitive("truncdiv", 2, _integers(_truncated_quotient, lambda a, b: np.trunc(np.true_divide(a, b)))),
        Primitive("truncmod", 2, _integers(np.fmod, np.fmod)),
        Primitive("pow", 2, _power),
        Primitive("minimum", 2, np.minimum),  # NaN if either is NaN
        Primitive("maximum", 2, np.maximum),
        Primitive("atan2", 2, np.arctan2),
        Primitive("fma", 3, lambda a, b, c: a * b + c),  # may be fused or not
        Primitive("neg", 1, np.negative),
        Primitive("abs", 1, np.abs),
        Primitive("copysign", 2, np.copysign),
        Primitive("sqrt", 1, np.sqrt),
        Primitive("exp", 1, np.exp),
        Primitive("expm1", 1, np.expm1),
        Primitive("log", 1, np.log),
        Primitive("log1p", 1, np.log1p),
        Primitive("sin", 1, np.sin),
        Primitive("cos", 1, np.cos),
        Primitive("tan", 1, np.tan),
        Primitive("asin", 1, np.arcsin),
        Primitive("acos", 1, np.arccos),
        Primitive("atan", 1, np.arctan),
        Primitive("sinh", 1, np.sinh),
        Primitive("cosh", 1, np.cosh),
        Primitive("tanh", 1, np.tanh),
        Primitive("asinh", 1, np.arcsinh),
        Primitive("acosh", 1, np.arccosh),
        Primitive("atanh", 1, np.arctanh),
        Primitive("erf", 1, _erf_family(math.erf)),
        Primitive("erfc", 1, _erf_family(math.erfc)),
        Primitive("lgamma", 1, _erf_family(_lgamma)),
        Primitive("digamma", 1, _erf_family(_digamma)),
        Primitive("floor", 1, np.floor),
        Primitive("ceil", 1, np.ceil),
        Primitive("rint", 1, np.rint),  # ties to even
        Primitive("and", 2, np.bitwise_and),  # bits of integers, or truth values
        Primitive("or", 2, np.bitwise_or),
        Primitive("xor", 2, np.bitwise_xor),
        Primitive("invert", 1, np.invert),
        Primitive("shl", 2, _shift(np.left_shift)),
        Primitive("shr", 2, _shift(np.right_shift)),  # arithmetic for signed integers
        Primitive("eq", 2, np.equal, predicate=True),
        Primitive("ne", 2, np.not_equal, predicate=True),
        Primitive("lt", 2, np.less, predicate=True),
        Primitive("le", 2, np.less_equal, predicate=True),
        Primitive("gt", 2, np.greater, predicate=True),
        Primitive("ge", 2, np.greater_equal, predicate=True),
        Primitive("select", 3, np.where),  # condition, value if true, value if false
    )
}
CONVERSIONS = ("cast", "bitcast")  # have the dtype of the result as second argument instead of an operand


def read(name: str, *args: Any) -> Any:
    """The primitive `name` of `args`, read as kernel expression, graph operation or NumPy value."""
    tensors = [a for a in args if hasattr(a, "read_scalar")]
    if tensors:
        return tensors[0].read_scalar(name, args)
    if not any(isinstance(a, Expr) for a in args):
        return PRIMITIVES[name].numpy(*args)
    typed = [a.dtype for a in (args[1:] if name == "select" else args) if isinstance(a, Expr)]
    operands = tuple(a if isinstance(a, Expr) else Const(a, typed[0]) for a in args)
    for operand in operands[1 if name == "select" else 0 :]:
        if operand.dtype is not operands[-1].dtype:
            raise TypeError(f"{name} of {', '.join(o.dtype.name for o in operands)}: the dtypes differ")
    return Scalar(name, operands, bool_ if PRIMITIVES[name].predicate else operands[-1].dtype)


_expr.READ = read


def cast(x: Any, dtype: DType) -> Any:
    """`x` converted to `dtype`: towards zero from floating to integer, nonzero to True."""
    if hasattr(x, "read_scalar"):
        return x.read_scalar("cast", (x, dtype))
    if isinstance(x, Expr):
        return x if x.dtype is dtype else Scalar("cast", (x,), dtype)
    return dtype.round(x)


def bitcast(x: Any, dtype: DType) -> Any:
    """The bits of `x` read as another dtype of the same size."""
    if hasattr(x, "read_scalar"):
        return x.read_scalar("bitcast", (x, dtype))
    if isinstance(x, Expr):
        return x if x.dtype is dtype else Scalar("bitcast", (x,), dtype)
    return np.asarray(x).view(dtype.numpy)


def __getattr__(name: str) -> Callable[..., Any]:
    """`scalar.exp(x)` is `read("exp", x)`, for every
    primitive; a trailing underscore escapes Python's keywords.
    """
    primitive = name.rstrip("_")
    if primitive in PRIMITIVES:
        return lambda *args: read(primitive, *args)
    raise AttributeError(f"there is no scalar primitive {name}")
