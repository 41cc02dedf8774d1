"""lgamma of float32, computed in float64.

The steps are those of `gamma.py`. The asymptotic series begins at 4.5, and logarithms are numbers of float64.
Polynomials are as precise as is needed next to zeros, where most of the terms cancel.
"""

from __future__ import annotations

import math

from staticgraph.compiler.kernel.approximate.gamma import HALF_LOG_2PI, from_whole, is_pole
from staticgraph.compiler.kernel.approximate.logarithm import log_of_normal
from staticgraph.compiler.kernel.approximate.trigonometric import sine
from staticgraph.compiler.kernel.approximate.width import Width, is_nan, polynomial
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives import instructions

_ASYMPTOTIC, _STEPS = 4.5, (1, 2)
_LGAMMA = (  # lgamma(2 + d) / d, for |d| <= 1/2, within 2**-48
    0.42278433509846725, 0.3224670334241073, -0.06735230105323964, 0.020580808429062156,
    -0.007385551022872046, 0.0028905102646132053, -0.001192754146614988, 0.0005096709320263492,
    -0.00022315056979861005, 9.944237242719118e-05, -4.4964968527214767e-05, 2.0595869712399675e-05,
    -9.24650256135068e-06, 4.09404792374669e-06, -2.5241221804990143e-06, 1.3873636813592723e-06,
)
_STIRLING = (  # (lgamma(x) - (x - 1/2)*log(x) + x - log(2*pi)/2) * x in 1/x**2; of lgamma within 2**-50
    0.08333333333263455, -0.0027777775466849225, 0.0007936234771062452, -0.0005936815475346429,
    0.0007946029374333641, -0.0011503254410652724,
)


def lgamma(w: Width, x: Expr) -> Expr:
    """log(|gamma(x)|), infinite at the poles and at -inf."""
    size = instructions.abs(x)
    positive = _lgamma_of_positive(w, size)
    sine_of_turn = instructions.abs(sine(w, from_whole(size), 0))
    negative = -(log_of_normal(w, size * (sine_of_turn * (1 / math.pi))) + positive)
    # Below 2**-60 the sign makes no difference.
    result = instructions.select((x < 0.0) & (size > 2.0**-60), negative, positive)
    result = instructions.select(is_pole(x) | instructions.eq(size, math.inf), w.const(math.inf), result)
    return instructions.select(is_nan(x), x, result)


def _lgamma_of_positive(w: Width, x: Expr) -> Expr:
    far = x >= _ASYMPTOTIC
    below_half, below = x < 0.5, x < 1.5
    # The argument y of the polynomial, and the product of the numbers between y and x.
    y = instructions.select(below_half, x, instructions.select(below, x - 1.0, x - 2.0))
    product = instructions.select(below_half, x * (x + 1.0), instructions.select(below, x, w.const(1.0)))
    for k in _STEPS:
        step = x - float(k)
        inside = step >= 1.5
        product = instructions.select(inside, product * step, product)
        y = instructions.select(inside, step - 2.0, y)
    log_of = log_of_normal(w, instructions.select(far, x, product))
    near = instructions.fma(polynomial(y, _LGAMMA), y, instructions.select(below, -log_of, log_of))
    reciprocal = 1.0 / x
    series = polynomial(reciprocal * reciprocal, _STIRLING)
    tail = instructions.fma(series, reciprocal, w.const(HALF_LOG_2PI - 0.5))
    return instructions.select(far, instructions.fma(x - 0.5, log_of - 1.0, tail), near)
