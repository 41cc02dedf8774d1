"""lgamma and digamma, in float64.

Up to 2.5 each is a polynomial that has its zero as a factor. From there to 8 the argument is stepped down by
whole numbers, beyond comes the asymptotic series, and below zero the reflection.
"""

from __future__ import annotations

import math

from staticgraph.compiler.kernel.approximate.logarithm import log_extended, log_of_normal
from staticgraph.compiler.kernel.approximate.trigonometric import sine
from staticgraph.compiler.kernel.approximate.width import Width, at_most, is_nan, polynomial, two_product
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives import instructions

_STEPS = range(1, 7)
_ASYMPTOTIC = 8.0
HALF_LOG_2PI = 0.9189385332046728
LGAMMA = (  # lgamma(2 + d) / d, for |d| <= 1/2, within 2**-55.9
    0.42278433509846713, 0.3224670334241132, -0.06735230105319524, 0.020580808427788484,
    -0.0073855510289458646, 0.002890510330494772, -0.0011927539017229625, 0.000509669530780619,
    -0.0002231549419179739, 9.945744824301621e-05, -4.4924347829555664e-05, 2.0507427033550382e-05,
    -9.450821200755484e-06, 4.3763028193428595e-06, -2.000360542040315e-06, 9.402343245627224e-07,
    -5.171239769192068e-07, 2.5893973810447957e-07, -6.36257951331461e-08,
)
_STIRLING = (  # (lgamma(x) - (x - 1/2)*log(x) + x - log(2*pi)/2) * x in 1/x**2, from 8 on
    0.08333333333333333, -0.0027777777777547863, 0.0007936507750268985, -0.0005952324772092865,
    0.0008409547633607929, -0.0018606892911200777, 0.004425924008878116,
)
_ZERO, _ZERO_LOW = 1.4616321449683622, 9.549995429965697e-17  # of digamma
_DIGAMMA = (  # digamma(_ZERO + d) / d, from 1 to 2.5, within 2**-54.5
    0.9676722454476212, -0.4427631689835921, 0.2584997609556346, -0.16394270544239076, 0.10782405069254025,
    -0.07219956125910125, 0.048804288129748345, -0.033161126357772144, 0.022597648527993022,
    -0.015424767993659114, 0.01053879400744774, -0.007204520435847816, 0.004926717704432209,
    -0.0033697653370798495, 0.0023055455545103573, -0.0015779679358315206, 0.0010783705623003653,
    -0.000732938188613027, 0.0004988845921455478, -0.0003513095019175317, 0.00025861033994627197,
    -0.00018176016675720046, 0.00010481679236584493, -4.307804280663995e-05, 1.085463178404247e-05,
    -1.2465060313514522e-06,
)
_DIGAMMA_SERIES = (  # (log(x) - 1/(2*x) - digamma(x)) * x**2 in 1/x**2, from 8 on
    0.08333333333333316, -0.008333333333046321, 0.003968253806281876, -0.004166623284457408,
    0.007569505610610466, -0.02059022804084496, 0.061558596655748456,
)


def is_pole(x: Expr) -> Expr:
    """Return the condition that gamma has no value at `x`: 0, -1, -2..."""
    return (x <= 0.0) & instructions.eq(instructions.floor(x), x)


def from_whole(x: Expr) -> Expr:
    """pi times the distance of `x` from the nearest whole number."""
    return (x - instructions.rint(x)) * math.pi


def lgamma(w: Width, x: Expr) -> Expr:
    """log(|gamma(x)|), infinite at the poles and at -inf."""
    size = instructions.abs(x)
    positive = _lgamma_of_positive(w, size)
    sine_of_turn = instructions.abs(sine(w, from_whole(size), 0))
    log, log_low = log_extended(size * (sine_of_turn * (1 / math.pi)))
    negative = -((log + positive) + log_low)
    # The product of the size and its sine would underflow, where the sign makes no difference.
    result = instructions.select((x < 0.0) & (size > 2.0**-60), negative, positive)
    result = instructions.select(is_pole(x) | instructions.eq(size, math.inf), w.const(math.inf), result)
    return instructions.select(is_nan(x), x, result)


def _lgamma_of_positive(w: Width, x: Expr) -> Expr:
    one = w.const(1.0)
    far = x >= _ASYMPTOTIC
    below_half, below = x < 0.5, x < 1.5
    # The argument y of the polynomial, and the product of the numbers between y and x.
    y = instructions.select(below_half, x, instructions.select(below, x - 1.0, x - 2.0))
    product = instructions.select(below_half, x * (x + 1.0), instructions.select(below, x, one))
    for k in _STEPS:
        step = x - float(k)
        inside = step >= 1.5
        product = instructions.select(inside, product * step, product)
        y = instructions.select(inside, step - 2.0, y)
    log, log_low = log_extended(instructions.select(far, x, product))
    sign = instructions.select(below, w.const(-1.0), one)
    near = instructions.fma(polynomial(y, LGAMMA), y, log * sign) + log_low * sign
    less = x - 0.5
    term, term_low = two_product(less, log - 1.0)
    series = polynomial(1.0 / (x * x), _STIRLING) / x
    tail = instructions.fma(less, log_low, term_low) + ((HALF_LOG_2PI - 0.5) + series)
    # Only at the largest arguments does the sum overflow, and then the low part is no number.
    return instructions.select(far, term + instructions.select(x < 1e300, tail, w.const(0.0)), near)


def digamma(w: Width, x: Expr) -> Expr:
    """The derivative of lgamma, infinite at the poles and at -inf."""
    reflected = x < 0.0
    value = _digamma_of_positive(w, instructions.select(reflected, 1.0 - x, x))
    angle = from_whole(x)
    cotangent = sine(w, angle, 1) / sine(w, angle, 0)
    result = instructions.select(reflected, instructions.fma(cotangent, w.const(-math.pi), value), value)
    infinite = is_pole(x) | instructions.eq(instructions.abs(x), math.inf)
    return instructions.select(is_nan(x), x, instructions.select(infinite, w.const(math.inf), result))


def _digamma_of_positive(w: Width, x: Expr) -> Expr:
    far, below = x >= _ASYMPTOTIC, x < 1.0
    # The argument y of the polynomial, and the sum of 1/x over the numbers between y and x, as a fraction.
    y = instructions.select(below, x + 1.0, x)
    above, under = (
        instructions.select(below, w.const(-1.0), w.const(0.0)),
        instructions.select(below, x, w.const(1.0)),
    )
    for k in _STEPS:
        step = x - float(k)
        inside = step >= 1.5
        above = instructions.select(inside, instructions.fma(above, step, under), above)
        under = instructions.select(inside, under * step, under)
        y = instructions.select(inside, step, y)
    distance = (at_most(y, 2.5) - _ZERO) - _ZERO_LOW
    near = instructions.fma(polynomial(distance, _DIGAMMA), distance, above / under)
    reciprocal = 1.0 / x
    z = reciprocal * reciprocal
    series = instructions.fma(polynomial(z, _DIGAMMA_SERIES), z, reciprocal * 0.5)
    return instructions.select(far, log_of_normal(w, x) - series, near)
