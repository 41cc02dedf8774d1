"""log and log1p, the inverse hyperbolic functions, and a logarithm in twice the precision.

x = 2**k * m with m between sqrt(1/2) and sqrt(2), and log(x) = k*log(2) + log(m). In float64 log(m) is a
series in t = (m - 1)/(m + 1), in float32 one in m - 1, without a division.
"""

from __future__ import annotations

import math

from staticgraph.compiler.kernel.approximate.width import (
    DOUBLE,
    SINGLE,
    Width,
    polynomial,
    product,
    two_product,
    two_sum,
)
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.instructions import cast

_LN2 = math.log(2)
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10  # k times the high part is exact
_LOG32 = (  # (log(1 + u) - u) / u**2, of log within 2**-27.2
    -0.5, 0.3333333134651184, -0.250008225440979, 0.20001262426376343, -0.1662331372499466,
    0.14201220870018005, -0.13160434365272522, 0.12764310836791992, -0.07635941356420517,
)
_LOG64 = (  # (log((1 + t)/(1 - t)) - 2*t) / t**3 in t**2
    0.6666666666666735, 0.39999999999411245, 0.28571428743232186, 0.22222198478785765, 0.18183569611933295,
    0.153139061395154, 0.14797481423917183,
)
_LOG64_TAIL = (  # (log((1 + t)/(1 - t)) - 2*t - 2/3*t**3) / t**5 in t**2, of log within 2**-72
    0.3999999999999998, 0.2857142857144384, 0.22222222217789578, 0.18181818844030323, 0.15384558425107064,
    0.13336264654979488, 0.11675777199384144, 0.1198178476240171,
)


def split(w: Width, x: Expr) -> tuple[Expr, Expr]:
    """The exponent k and m - 1, for positive normal x."""
    bits = w.bits_of(x)
    k = (bits - w.bits_of(math.sqrt(0.5))) >> w.integer(w.mantissa)
    return cast(k, w.dtype), w.of_bits(bits - w.exponent(k)) - 1.0


def _joined(w: Width, k: Expr, u: Expr) -> Expr:
    """k*log(2) + log(1 + u)."""
    squared = u * u
    if w is SINGLE:
        return instructions.fma(k, w.const(_LN2), instructions.fma(polynomial(u, _LOG32), squared, u))
    t = u / (u + 2.0)
    z = t * t
    half_square = squared * 0.5
    y = instructions.fma(t, instructions.fma(polynomial(z, _LOG64), z, half_square), k * _LN2_LOW)
    return instructions.fma(k, w.const(_LN2_HIGH), u - (half_square - y))


def log_of_normal(w: Width, x: Expr) -> Expr:
    """log(x) for positive normal x."""
    return _joined(w, *split(w, x))


def log(w: Width, x: Expr) -> Expr:
    """The natural logarithm."""
    small = x < w.least  # or negative, or zero
    shift = w.mantissa + 2
    k, u = split(w, instructions.select(small, x * 2.0**shift, x))
    y = _joined(w, instructions.select(small, k - float(shift), k), u)
    y = instructions.select(x < math.inf, y, x)
    lowest = instructions.select(instructions.eq(x, 0.0), w.const(-math.inf), w.const(math.nan))
    return instructions.select(x > 0.0, y, lowest)


def _log_of_sum(w: Width, x: Expr, low: Expr) -> Expr:
    """log(x + low), for a `low` below the last place of `x`: to first order, which is all that is left."""
    return log_of_normal(w, x) + low / x


def log1p(w: Width, x: Expr) -> Expr:
    """log(1 + x)."""
    u = x + 1.0
    lost = instructions.select(x < 2.0 ** (w.mantissa + 2), x - (u - 1.0), w.const(0.0))
    y = _log_of_sum(w, u, lost)
    y = instructions.select(x < math.inf, y, x)
    lowest = instructions.select(instructions.eq(x, -1.0), w.const(-math.inf), w.const(math.nan))
    return instructions.select(x > -1.0, instructions.copysign(y, x), lowest)


def _log_with_root(x: Expr, one: float) -> Expr:
    """log(x + sqrt(x**2 + one)) in float64, for x >= 0 (x >= 1 if `one` is -1)."""
    w = DOUBLE
    square, square_low = two_product(x, x)
    total = square + one
    part = total - square
    total_low = (square - (total - part)) + (one - part) + square_low
    root = instructions.sqrt(total)
    twice = instructions.select(instructions.eq(root, 0.0), w.const(1.0), root * 2.0)
    root_low = (instructions.fma(-root, root, total) + total_low) / twice
    larger, smaller = (root, x) if one > 0 else (x, root)
    y, y_low = two_sum(larger, smaller)
    huge = x > 2.0**28  # the square, which might overflow, hides the one
    k, u = split(w, instructions.select(huge, x, y))
    result = _joined(w, instructions.select(huge, k + 1.0, k), u)
    return result + instructions.select(huge, w.const(0.0), (y_low + root_low) / y)


def asinh(w: Width, x: Expr) -> Expr:
    """log(x + sqrt(x**2 + 1))."""
    size = instructions.abs(x)
    y = _log_with_root(size, 1.0)
    return instructions.select(size < math.inf, instructions.copysign(y, x), x)


def acosh(w: Width, x: Expr) -> Expr:
    """log(x + sqrt(x**2 - 1))."""
    y = instructions.select(x < math.inf, _log_with_root(x, -1.0), x)
    return instructions.select(x >= 1.0, y, w.const(math.nan))


def atanh(w: Width, x: Expr) -> Expr:
    """log((1 + x)/(1 - x)) / 2."""
    size = instructions.abs(x)
    above, above_low = two_sum(w.const(1.0), size)
    below, below_low = two_sum(w.const(1.0), -size)
    y = above / below
    low = (instructions.fma(-y, below, above) + instructions.fma(-y, below_low, above_low)) / above
    half = (log_of_normal(w, y) + low) * 0.5
    result = instructions.select(instructions.eq(size, 1.0), w.const(math.inf), half)
    return instructions.copysign(instructions.select(size <= 1.0, result, w.const(math.nan)), x)


def log_extended(x: Expr) -> tuple[Expr, Expr]:
    """log(x) of float64 in two parts, with an error of about 2**-66 of it, for positive finite x."""
    w = DOUBLE
    small = x < w.least
    k, u = split(w, instructions.select(small, x * 2.0**54, x))
    k = instructions.select(small, k - 54.0, k)
    below, below_low = two_sum(w.const(2.0), u)
    reciprocal = 1.0 / below
    t = product(u, reciprocal)
    t_low = instructions.fma(-t, below_low, instructions.fma(-t, below, u)) * reciprocal
    z, z_low = two_product(t, t)
    z_low = instructions.fma(t + t, t_low, z_low)
    # 2*t + t*z*(2/3 + z*tail), the second summand in two parts as well: it is up to a hundredth of the first
    factor, factor_low = two_sum(w.const(2 / 3), polynomial(z, _LOG64_TAIL) * z)
    factor_low = factor_low + 3.700743415417188e-17  # what 2/3 lost
    cube, cube_low = two_product(t, z)
    cube_low = cube_low + instructions.fma(t, z_low, t_low * z)
    third, third_low = two_product(cube, factor)
    third_low = third_low + instructions.fma(cube, factor_low, cube_low * factor)
    y, y_low = two_sum(t + t, third)
    y_low = y_low + (third_low + (t_low + t_low))
    whole, whole_low = two_sum(k * _LN2_HIGH, y)
    return two_sum(whole, whole_low + instructions.fma(k, w.const(_LN2_LOW), y_low))
