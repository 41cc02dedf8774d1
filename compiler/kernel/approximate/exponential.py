"""exp, expm1 and the hyperbolic functions.

x = n*log(2) + r with |r| <= log(2)/2, and exp(x) = 2**n * exp(r).
"""

from __future__ import annotations

import math

from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.kernel.approximate.width import Table, Width, at_least, at_most, polynomial, two_sum
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives import instructions

_LN2 = {  # the high part with trailing zeros, so that its product with n is exact; the low part
    float32: (0.693145751953125, 1.428606765330187e-06),
    float64: (0.6931471803691238, 1.9082149292705877e-10),
}
_MOST = {float32: 88.8, float64: 709.9}  # of x; beyond, exp is inf
_EXP: Table = {  # (exp(r) - 1) / r; of exp within 2**-27.8 and 2**-57.6
    float32: (
        1.0, 0.4999999403953552, 0.1666652113199234, 0.04166816547513008, 0.008368464186787605,
        0.001382322981953621,
    ),
    float64: (
        1.0, 0.5, 0.1666666666666668, 0.04166666666666635, 0.008333333333317806, 0.0013888888889137644,
        0.0001984126990057158, 2.4801586628780084e-05, 2.755722409982773e-06, 2.755805991584186e-07,
        2.5118372266544672e-08, 2.0617922521904488e-09,
    ),
}
_EXPM1: Table = {  # (exp(r) - 1 - r) / r**2; of expm1 within 2**-25.7 and 2**-57.9
    float32: (
        0.4999999701976776, 0.1666654795408249, 0.04166734963655472, 0.008366676047444344,
        0.0013882730854675174,
    ),
    float64: (
        0.5, 0.16666666666666677, 0.041666666666666685, 0.008333333333321466, 0.0013888888888873283,
        0.00019841269886636492, 2.4801587364840168e-05, 2.755724407817112e-06, 2.7557213928622763e-07,
        2.510878385380046e-08, 2.0940198675786366e-09,
    ),
}
_SINH: Table = {  # (sinh(x) - x) / x**3 in x**2, up to 1
    float32: (0.1666666716337204, 0.00833331048488617, 0.00019842895562760532, 2.782211822704994e-06),
    float64: (
        0.16666666666666666, 0.008333333333333573, 0.00019841269841061192, 2.7557319310108454e-06,
        2.5052089393500432e-08, 1.606134408324588e-10, 7.50276403920556e-13, 6.493488954042692e-15,
    ),
}


def reduced(w: Width, x: Expr, added: int) -> tuple[Expr, Expr]:
    """r, and an integer whose low bits are n + `added`. Its high bits are those of a floating number."""
    rounder = w.rounder + added
    shifted = instructions.fma(x, w.const(1 / math.log(2)), w.const(rounder))
    whole = shifted - rounder
    high, low = _LN2[w.dtype]
    return instructions.fma(whole, w.const(-low), instructions.fma(whole, w.const(-high), x)), w.bits_of(
        shifted
    )


def _scaled(w: Width, x: Expr, n: Expr) -> Expr:
    """x * 2**n, where the low bits of `n` hold n plus twice the bias.

    In two steps: 2**n may be denormal, or beyond the largest number, where the product is neither.
    """
    half = (n << w.integer(w.mantissa - 1)) & ((2 * w.bias + 1) << w.mantissa)
    return x * w.of_bits(half) * w.of_bits(w.exponent(n) - half)


def _within(w: Width, x: Expr, added: int = 0) -> Expr:
    """x, or what has the same exponential times 2**added if that is 0 or inf.

    The least x is the one at which both factors of `_scaled` are 0. Others have products that are too small
    for a number, which takes a processor several times as long. Scores that a mask takes out are far below.
    """
    least = -2 * w.bias - added
    return at_most(at_least(x, least * math.log(2)), _MOST[w.dtype] - added * math.log(2))


def exp(w: Width, x: Expr, added: int = 0) -> Expr:
    """exp(x) * 2**added."""
    r, n = reduced(w, _within(w, x, added), 2 * w.bias + added)
    return _scaled(w, instructions.fma(polynomial(r, _EXP), r, 1.0), n)


def exp_of_sum(w: Width, x: Expr, low: Expr) -> Expr:
    """exp(x + low), rounded but once, for a `low` far below `x`."""
    r, n = reduced(w, _within(w, x), 2 * w.bias)
    total, lost = two_sum(w.const(1.0), r)
    tail = polynomial(r, _EXPM1) * (r * r)
    tail = instructions.fma(low, total + tail, tail)
    return _scaled(w, total + (lost + tail), n)


def _expm1(w: Width, x: Expr) -> Expr:
    """expm1(x) / 2, for x between log(2**-bias) and where it is beyond the largest number."""
    r, n = reduced(w, x, w.bias - 1)  # 2**n overflows before the result does
    half = w.of_bits(w.exponent(n))
    return instructions.fma(half, instructions.fma(polynomial(r, _EXPM1), r * r, r), half - 0.5)


def expm1(w: Width, x: Expr) -> Expr:
    """exp(x) - 1."""
    inside = at_most(at_least(x, -0.9 * w.bias * math.log(2)), _MOST[w.dtype])
    result = _expm1(w, inside) * 2.0
    tiny = instructions.abs(x) < 2.0 ** -(w.mantissa + 2)  # halving could lose bits of a denormal
    return instructions.copysign(instructions.select(tiny, x, result), x)


def tanh(w: Width, x: Expr) -> Expr:
    """e / (e + 2) for e = expm1(2*|x|)."""
    half = _expm1(w, at_most(instructions.abs(x) * 2.0, 44.0))
    below = half + 1.0
    reciprocal = 1.0 / below
    quotient = half * reciprocal
    lost = half - (below - 1.0)
    rest = instructions.fma(-quotient, lost, instructions.fma(-quotient, below, half))
    return instructions.copysign(instructions.fma(rest, reciprocal, quotient), x)


def _halves(w: Width, x: Expr) -> tuple[Expr, Expr]:
    """exp(|x|)/2 and exp(-|x|)/2."""
    growing = exp(w, instructions.abs(x), -1)
    return growing, 0.25 / growing


def sinh(w: Width, x: Expr) -> Expr:
    """A polynomial up to 1, exponentials beyond."""
    squared = x * x
    near = instructions.fma(polynomial(squared, _SINH) * squared, x, x)
    growing, decaying = _halves(w, x)
    return instructions.select(instructions.abs(x) < 1.0, near, instructions.copysign(growing - decaying, x))


def cosh(w: Width, x: Expr) -> Expr:
    """(exp(x) + exp(-x)) / 2."""
    growing, decaying = _halves(w, x)
    return growing + decaying
