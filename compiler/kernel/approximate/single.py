"""Functions of float32 that are computed in float64, just as precisely as float32 needs.

What float64 has beyond float32 does for the second parts that formulas of float64 carry along. Polynomials
are shorter. Below 2**-14, an inverse hyperbolic function is its argument up to rounding.
"""

from __future__ import annotations

import math

from staticgraph.compiler.kernel.approximate.exponential import reduced
from staticgraph.compiler.kernel.approximate.logarithm import split
from staticgraph.compiler.kernel.approximate.width import Width, at_most, polynomial
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives import instructions

_LOG = (  # (log((1 + t)/(1 - t)) - 2*t) / t**3 in t**2, of log within 2**-37.6
    0.6666666564420421, 0.4000033550364999, 0.28537287033267966, 0.23582587718415757,
)
_EXP = (  # (exp(r) - 1) / r, of exp within 2**-34.3
    1.0000000002087228, 0.5000000077181304, 0.16666665163105449, 0.04166627243195032, 0.008333568970916512,
    0.0013945906425000248, 0.000197676603234409,
)
_ERFCX = (  # (1 + 2*x) * exp(x**2) * erfc(x) in (x - 3)/(x + 3), from 0 to 10.2, within 2**-34.7
    1.253008058266394, -0.13562110690365786, -0.04756229390337444, 0.12964520133537913,
    -0.11927365299591881, 0.06830736472611022, -0.02377105597390016, 0.002533551203828931,
    0.0018942908937093716, -0.0007900109123022306, -0.00012674673583495586, 0.0001267025726905409,
    3.310243655135612e-05,
)
_ERFC_END = 10.2  # where erfc is below half of the least number of float32
_TINY = 2.0**-14


def log(w: Width, x: Expr) -> Expr:
    """log(x) for positive normal x."""
    k, u = split(w, x)
    t = u / (u + 2.0)
    z = t * t
    return instructions.fma(k, w.const(math.log(2)), instructions.fma(polynomial(z, _LOG), t * z, t + t))


def asinh(w: Width, x: Expr) -> Expr:
    """log(x + sqrt(x**2 + 1))."""
    size = instructions.abs(x)
    y = log(w, size + instructions.sqrt(instructions.fma(size, size, 1.0)))
    inside = (size >= _TINY) & (size < math.inf)
    return instructions.select(inside, instructions.copysign(y, x), x)


def acosh(w: Width, x: Expr) -> Expr:
    """log(x + sqrt(x**2 - 1))."""
    y = log(w, x + instructions.sqrt(instructions.fma(x, x, -1.0)))
    y = instructions.select(x < math.inf, y, x)
    return instructions.select(x >= 1.0, y, w.const(math.nan))


def atanh(w: Width, x: Expr) -> Expr:
    """log((1 + x)/(1 - x)) / 2."""
    size = instructions.abs(x)
    y = log(w, (1.0 + size) / (1.0 - size)) * 0.5
    y = instructions.select(instructions.eq(size, 1.0), w.const(math.inf), y)
    y = instructions.select(size <= 1.0, instructions.copysign(y, x), w.const(math.nan))
    return instructions.select(size < _TINY, x, y)


def erfc(w: Width, x: Expr) -> Expr:
    """1 - erf(x), without loss where erf is close to 1. The square of a float32 is exact."""
    size = at_most(instructions.abs(x), _ERFC_END)
    r, n = reduced(w, -(size * size), w.bias)
    power = w.of_bits(w.exponent(n))
    above, below = size + 3.0, size * 2.0 + 1.0
    reciprocal = 1.0 / (above * below)
    numerator = polynomial((size - 3.0) * (below * reciprocal), _ERFCX)
    far = instructions.fma(polynomial(r, _EXP), r, 1.0) * power * numerator * (above * reciprocal)
    return instructions.select(x < 0.0, 2.0 - far, far)
