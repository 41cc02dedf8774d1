"""Functions that are formulas of instructions: exp, log, sin and others. A new function is one record here.

Processors have no form of their own for them. GPUs have functions of the CUDA library, where a record has a
text for it.
"""

from __future__ import annotations

import math
from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from staticgraph.compiler.kernel.primitives.instructions import (
    BESSEL,
    DIGAMMA,
    FUNCTION,
    INSTRUCTIONS,
    LGAMMA,
    NUMBERS,
    PARTS,
    Approximation,
    Primitive,
    Texts,
)
from staticgraph.compiler.support.lazy_names import functions_of

# The files of formulas: each is imported when one of its functions is printed.
(
    bessel, bessel_tables, error_function, exponential, fast, gamma, gamma_single, inverse_trigonometric,
    logarithm, power, single, tables, trigonometric,
) = (
    functions_of(f"staticgraph.compiler.kernel.approximate.{file}", names)
    for file, names in {
        "bessel": "bessel_i0e bessel_i1e bessel_i0e_single bessel_i1e_single",
        "bessel_tables": "bessel_i0e bessel_i1e",
        "error_function": "erf erfc",
        "exponential": "exp expm1 sinh cosh tanh",
        "fast": "tanh erf",
        "gamma": "lgamma digamma",
        "gamma_single": "lgamma",
        "inverse_trigonometric": "asin acos atan atan2",
        "logarithm": "log log1p asinh acosh atanh",
        "power": "power",
        "single": "acosh asinh atanh erfc",
        "tables": "tanh erf",
        "trigonometric": "sin cos tan far",
    }.items()
)


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
    if math.isnan(x):
        return math.nan
    if math.isinf(x) or (x <= 0 and x == math.floor(x)):
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


def bessel_scaled(order: int) -> Callable[[float], float]:
    """exp(-|x|) * I(order, x): the power series, of positive terms, or for large x the asymptotic one."""

    def function(x: float) -> float:
        z = abs(x)
        if z <= 30:
            term = math.exp(-z) * (z / 2) ** order
            total, k = term, 0
            while term > 1e-17 * total:
                k += 1
                term *= z * z / 4 / (k * (k + order))
                total += term
        else:
            term = 1 / (math.sqrt(2 * math.pi) * math.sqrt(z))
            total, k = term, 0
            while abs(term) > 1e-17 * total and k < 30:
                k += 1
                term *= ((2 * k - 1) ** 2 - 4 * order * order) / (8 * k) / z
                total += term
        return math.copysign(total, x) if order % 2 else total

    return function


def power_of(a: Any, b: Any) -> Any:
    """Return a ** b. Only 1 and -1 have integer powers with negative exponents; other ones are 0."""
    a, b = np.asarray(a), np.asarray(b)
    if np.issubdtype(np.result_type(a, b), np.floating):
        # NumPy takes roots if one exponent of a half is for all: of -0 and -inf, these are no powers.
        a = np.where((b == 0.5) & ((a == 0) | (a == -np.inf)), np.abs(a), a)
    if not np.issubdtype(np.result_type(a, b), np.signedinteger):
        return np.power(a, b)
    reciprocal = np.where(a == 1, 1, np.where(a == -1, np.where(b % 2 == 0, 1, -1), 0)).astype(a.dtype)
    return np.where(b < 0, reciprocal, np.power(a, np.maximum(b, 0)))


def _function(
    name: str,
    numpy: Callable[..., Any],
    formula: Callable[..., Any],
    library: bool = True,
    cost: float = FUNCTION,
    **forms: Any,
) -> Primitive:
    """A function of one number. `library`: the CUDA library has it, by the same name."""
    cuda = Texts(f"{name}{{f}}({{0}})") if library else Texts()
    return Primitive(name, 1, numpy, cost=cost, cuda=cuda, approximation=Approximation(formula, **forms))


FUNCTIONS: dict[str, Primitive] = {
    p.name: p
    for p in (
        Primitive("pow", 2, power_of, NUMBERS, cost=FUNCTION,
                  cuda=Texts("pow{f}({0}, {1})", "power({0}, {1})"),
                  approximation=Approximation(power.power)),
        Primitive("atan2", 2, np.arctan2, cost=FUNCTION, cuda=Texts("atan2{f}({0}, {1})"),
                  approximation=Approximation(inverse_trigonometric.atan2)),
        _function("exp", np.exp, exponential.exp),
        _function("expm1", np.expm1, exponential.expm1),
        _function("log", np.log, logarithm.log),
        _function("log1p", np.log1p, logarithm.log1p),
        _function("sin", np.sin, trigonometric.sin, far=partial(trigonometric.far, "sin")),
        _function("cos", np.cos, trigonometric.cos, far=partial(trigonometric.far, "cos")),
        _function("tan", np.tan, trigonometric.tan, far=partial(trigonometric.far, "tan")),
        _function("asin", np.arcsin, inverse_trigonometric.asin),
        _function("acos", np.arccos, inverse_trigonometric.acos),
        _function("atan", np.arctan, inverse_trigonometric.atan),
        _function("sinh", np.sinh, exponential.sinh),
        _function("cosh", np.cosh, exponential.cosh),
        _function("tanh", np.tanh, exponential.tanh, fast=fast.tanh, table=tables.tanh),
        _function("asinh", np.arcsinh, logarithm.asinh, in_float64=True, single=single.asinh),
        _function("acosh", np.arccosh, logarithm.acosh, in_float64=True, single=single.acosh),
        _function("atanh", np.arctanh, logarithm.atanh, in_float64=True, single=single.atanh),
        _function("erf", _erf_family(math.erf), error_function.erf, fast=fast.erf, table=tables.erf,
                  table_is_fastest=True),
        _function("erfc", _erf_family(math.erfc), error_function.erfc, in_float64=True, single=single.erfc),
        _function("lgamma", _erf_family(_lgamma), gamma.lgamma, cost=LGAMMA, in_float64=True,
                  single=gamma_single.lgamma),
        _function("digamma", _erf_family(_digamma), gamma.digamma, False, cost=DIGAMMA, in_float64=True),
        _function("bessel_i0e", _erf_family(bessel_scaled(0)), bessel.bessel_i0e, False, cost=BESSEL,
                  in_float64=True, single=bessel.bessel_i0e_single, table=bessel_tables.bessel_i0e),
        _function("bessel_i1e", _erf_family(bessel_scaled(1)), bessel.bessel_i1e, False, cost=BESSEL,
                  in_float64=True, single=bessel.bessel_i1e_single, table=bessel_tables.bessel_i1e),
    )
}
PRIMITIVES: Mapping[str, Primitive] = ChainMap(INSTRUCTIONS, FUNCTIONS, PARTS)
