"""sin, cos and tan, on arguments reduced by multiples of pi/2.

Up to `_NEAR` three parts of pi/2 are subtracted. Beyond, the bits of 2/pi that matter are multiplied with the
integer mantissa (Payne and Hanek 1983): `far` gives that form, which is long, and rarely needed.
"""

from __future__ import annotations

import math
from itertools import pairwise

from staticgraph.compiler.graph.dtypes import float32, float64, int64, uint64
from staticgraph.compiler.kernel.approximate.width import (
    DOUBLE,
    SINGLE,
    WIDTHS,
    Table,
    Width,
    polynomial,
    two_product,
    two_sum,
)
from staticgraph.compiler.kernel.expr import Const, Expr, Scalar
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.instructions import bitcast, cast

_HALF_PI = {
    float32: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    float64: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
}
_NEAR = {float32: 1e5, float64: 1e9}  # the greatest argument that these parts can reduce
_SIN: Table = {  # (sin(r) - r) / r**3 in r**2
    float32: (-0.16666654801981362, 0.008332170188909213, -0.00019516324708933956),
    float64: (
        -0.16666666666666666, 0.008333333333333323, -0.0001984126984125499, 2.7557319214149697e-06,
        -2.5052104900717133e-08, 1.6058365211534862e-10, -7.578626252655758e-13,
    ),
}
_COS: Table = {  # (cos(r) - 1 + r**2/2) / r**4 in r**2
    float32: (0.04166664692400133, -0.001388736940546656, 2.443857712518255e-05),
    float64: (
        0.041666666666666664, -0.0013888888888888874, 2.480158730157135e-05, -2.7557319215312356e-07,
        2.0876754351663196e-09, -1.1470291608408535e-11, 4.738033942103986e-14,
    ),
}
_TAN: Table = {  # (tan(r) - r) / r**3 in r**2; of tan within 2**-25.7 and 2**-56
    float32: (
        0.33333155512809753, 0.13338835537433624, 0.05340815708041191, 0.024441741406917572,
        0.003100597532466054, 0.009397237561643124,
    ),
    float64: (
        0.3333333333333277, 0.13333333333415565, 0.053968253926256746, 0.021869489618079385,
        0.008863219044130496, 0.003592290116619876, 0.0014547518291076235, 0.0005950902143608126,
        0.00022230503245613848, 0.00013667995290057923, -2.6605443359379307e-05, 8.965613523221953e-05,
        -4.498812220112423e-05, 2.089051821677759e-05,
    ),
}


def sine_of_rest(w: Width, r: Expr, quadrant: Expr) -> Expr:
    """sin(r + quadrant*pi/2), for |r| <= pi/4."""
    squared = r * r
    sine = instructions.fma(polynomial(squared, _SIN) * squared, r, r)
    cosine = instructions.fma(
        polynomial(squared, _COS) * squared, squared, instructions.fma(squared, w.const(-0.5), w.const(1.0))
    )
    odd = instructions.ne(quadrant & 1, w.integer(0))
    sign = (quadrant & 2) << w.integer(8 * w.dtype.size - 2)
    return w.of_bits(w.bits_of(instructions.select(odd, cosine, sine)) ^ sign)


def _tangent_of_rest(w: Width, r: Expr, low: Expr, quadrant: Expr) -> Expr:
    """tan(r + low + quadrant*pi/2), for |r| <= pi/4 and a `low` below its last place."""
    squared = r * r
    tail = instructions.fma(polynomial(squared, _TAN) * squared, r, instructions.fma(squared, low, low))
    tangent, lost = two_sum(r, tail)
    inverse = -1.0 / tangent
    odd = instructions.ne(quadrant & 1, w.integer(0))
    return instructions.select(odd, instructions.fma(inverse * inverse, lost, inverse), tangent)


def _reduced(w: Width, x: Expr) -> tuple[Expr, Expr, Expr]:
    """x less its multiple of the first part of pi/2, which is exact; the multiple; and its low bits."""
    shifted = instructions.fma(x, w.const(2 / math.pi), w.const(w.rounder))
    whole = shifted - w.rounder
    return instructions.fma(whole, w.const(-_HALF_PI[w.dtype][0]), x), whole, w.bits_of(shifted)


def sine(w: Width, x: Expr, quarters: int) -> Expr:
    """sin(x + quarters*pi/2), for arguments that are not huge."""
    r, whole, quadrant = _reduced(w, x)
    for part in _HALF_PI[w.dtype][1:]:
        r = instructions.fma(whole, w.const(-part), r)
    return sine_of_rest(w, r, quadrant + quarters)


def _tangent(w: Width, x: Expr) -> Expr:
    exact, whole, quadrant = _reduced(w, x)
    _, second, third = _HALF_PI[w.dtype]
    product, product_low = two_product(whole, w.const(second))
    r = exact - product
    part = r - exact
    lost = (exact - (r - part)) - (product + part)
    low = instructions.fma(whole, w.const(-third), lost - product_low)
    return _tangent_of_rest(w, r, low, quadrant)


def _unless_far(w: Width, op: str, x: Expr, near: Expr) -> Expr:
    return instructions.select(instructions.abs(x) <= _NEAR[w.dtype], near, Scalar(op, (x,), w.dtype))


def sin(w: Width, x: Expr) -> Expr:
    """Zero is copied for its sign: the reduction makes +0 of -0."""
    return _unless_far(w, "sin", x, instructions.select(instructions.eq(x, 0.0), x, sine(w, x, 0)))


def cos(w: Width, x: Expr) -> Expr:
    """A sine a quarter turn on."""
    return _unless_far(w, "cos", x, sine(w, x, 1))


def tan(w: Width, x: Expr) -> Expr:
    """A polynomial, or -1 over it."""
    return _unless_far(w, "tan", x, instructions.select(instructions.eq(x, 0.0), x, _tangent(w, x)))


def far(op: str, x: Expr) -> Expr:
    """sin, cos or tan of an `x` beyond the reach of the other form; NaN of an infinite one.

    >>> from staticgraph.compiler.kernel.expr import Local, walk
    >>> formula = far("sin", Local("x", float32))
    >>> any(isinstance(e, Scalar) and e.op == "sin" for e in walk(formula))
    False
    """
    w = WIDTHS[x.dtype]
    quadrant, r, low = _far_reduced(w, x)
    match op:
        case "sin":
            return sine_of_rest(w, r + low, quadrant)
        case "cos":
            return sine_of_rest(w, r + low, quadrant + 1)
        case _:
            return _tangent_of_rest(w, r, low, quadrant)


_LIMB = 32


def _two_over_pi(bits: int) -> int:
    """2/pi * 2**bits, by Machin's formula for pi."""
    guard = bits + 32

    def arc_cotangent(n: int) -> int:
        term, total, k = (1 << guard) // n, 0, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arc_cotangent(5) - arc_cotangent(239))
    return (1 << (guard + bits + 1)) // pi


def _limb(value: int) -> Const:
    return Const(value, uint64)


def _window(w: Width, start: Expr, count: int) -> list[Expr]:
    """The bits of 2/pi from `start` on, in limbs; before its first bit stand 32 zeros."""
    choices = 1 << ((w.bias - w.mantissa - 2 + _LIMB) // _LIMB).bit_length()
    total = choices + count
    digits = _two_over_pi(_LIMB * (total - 1))
    limbs: list[Expr] = [_limb(digits >> (_LIMB * (total - 1 - k)) & (1 << _LIMB) - 1) for k in range(total)]
    index = start >> _limb(5)
    while choices > 1:
        choices //= 2
        skip = instructions.ne(index & choices, _limb(0))
        limbs = [instructions.select(skip, limbs[k + choices], limbs[k]) for k in range(choices + count)]
    shift = start & (_LIMB - 1)
    return [_low((a << shift) | (b >> (_limb(_LIMB) - shift))) for a, b in pairwise(limbs)]


def _low(x: Expr) -> Expr:
    return x & ((1 << _LIMB) - 1)


def _high(x: Expr) -> Expr:
    return x >> _limb(_LIMB)


def _far_reduced(w: Width, x: Expr) -> tuple[Expr, Expr, Expr]:
    """The quadrant and the rest in two parts, from a product of integers without what are whole turns."""
    bits = cast(w.bits_of(instructions.abs(x)), uint64)
    mantissa = (bits & ((1 << w.mantissa) - 1)) | (1 << w.mantissa)
    # x = mantissa * 2**e, and turns are multiples of 4 in units of pi/2: the first e - 2 bits make whole ones
    start = (bits >> _limb(w.mantissa)) - (w.bias + w.mantissa + 2 - _LIMB)
    digits = _window(w, start, 4 if w is SINGLE else 7)
    parts = [_low(mantissa)] if w is SINGLE else [_high(mantissa), _low(mantissa)]
    fraction = _fraction(parts, digits)
    turn = (fraction[0] << _limb(_LIMB)) | fraction[1]
    quadrant = (turn + (1 << 61)) >> _limb(62)
    rest = bitcast(turn - (quadrant << _limb(62)), int64)
    r = cast(rest, float64)
    low = cast(rest - cast(r, int64), float64)
    if w is DOUBLE:
        below = (fraction[2] << _limb(_LIMB)) | fraction[3]
        low = low + cast(below, float64) * 2.0**-64
    scale = math.pi * 2.0**-63
    sign = instructions.select(x < 0.0, Const(-scale, float64), Const(scale, float64))
    nothing = cast(x - x, float64)  # NaN if x is infinite
    r, low = r * sign + nothing, instructions.fma(r, sign, -(r * sign)) + low * sign
    quadrant = cast(quadrant, w.bits)
    quadrant = instructions.select(x < 0.0, w.integer(0) - quadrant, quadrant)
    narrow = cast(r + low, w.dtype)
    return quadrant, narrow, cast((r - cast(narrow, float64)) + low, w.dtype)


def _fraction(parts: list[Expr], digits: list[Expr]) -> list[Expr]:
    """The first limbs behind the point of an integer of limbs `parts` times 0.`digits`."""
    columns: list[list[Expr]] = [[] for _ in digits]
    for p, part in enumerate(reversed(parts)):
        for k in range(p, len(digits)):
            product = part * digits[k]
            columns[k - p].append(_low(product))
            if k > p:
                columns[k - p - 1].append(_high(product))
    carry: Expr = _limb(0)
    limbs = []
    for column in reversed(columns[: len(digits) - len(parts)]):
        total = sum(column, carry)
        limbs.append(_low(total))
        carry = _high(total)
    return limbs[::-1]
