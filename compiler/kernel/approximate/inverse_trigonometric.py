"""asin, acos, atan and atan2."""

from __future__ import annotations

import math

from staticgraph.compiler.graph.dtypes import float32, float64
from staticgraph.compiler.kernel.approximate.width import Table, Width, is_nan, polynomial, two_sum
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives import instructions

# What the nearest number to pi leaves of it.
_PI_LOW = {float32: -8.742277657347586e-08, float64: 1.2246467991473532e-16}
_ASIN: Table = {  # (asin(s) - s) / s**3 in s**2, up to 1/2; of asin within 2**-27.6 and 2**-59.8
    float32: (
        0.16666752099990845, 0.0749531090259552, 0.04546888917684555, 0.024186305701732635,
        0.04215536266565323,
    ),
    float64: (
        0.1666666666666676, 0.07499999999970867, 0.0446428571745627, 0.030381942709662574,
        0.02237221494352229, 0.01735161270169273, 0.013980813142828384, 0.011398968055615128,
        0.010779958622710284, 0.0037074692256447894, 0.02170495542707388, -0.02099562657007902,
        0.03262651526892083,
    ),
}
_ATAN: Table = {  # (atan(t) - t) / t**3 in t**2, up to 1; of atan within 2**-28.5 and 2**-56.2
    float32: (
        -0.33333298563957214, 0.1999852955341339, -0.1426401436328888, 0.10950860381126404,
        -0.08399201184511185, 0.057878635823726654, -0.031093141064047813, 0.010865957476198673,
        -0.0017820482607930899,
    ),
    float64: (
        -0.33333333333333287, 0.19999999999990617, -0.14285714285045004, 0.1111111108667231,
        -0.09090908551042123, 0.07692299755113159, -0.06666584078070562, 0.058817183163292694,
        -0.05259443807439073, 0.0474496208116809, -0.04286492125590869, 0.0382123123984767,
        -0.03278938320991325, 0.026157164477263864, -0.018620201985481397, 0.011322733748290436,
        -0.0056156550102754365, 0.002153128196146968, -0.0005933949388616706, 0.00010397277150189683,
        -8.663637225068625e-06,
    ),
}


def _from_pi(w: Width, part: float, angle: Expr) -> Expr:
    """pi*part - angle."""
    return w.const(math.pi * part) - (angle - _PI_LOW[w.dtype] * part)


def _from_pi_less(w: Width, angle: Expr, tail: Expr) -> Expr:
    """pi/2 - angle - tail, for a tail that is the smaller."""
    rest, lost = two_sum(w.const(math.pi * 0.5), -angle)
    return rest + (lost - (tail - _PI_LOW[w.dtype] * 0.5))


def _arc_sine(w: Width, x: Expr) -> tuple[Expr, Expr, Expr]:
    """Return the condition |x| > 1/2, the number s, and asin(s) - s.

    s is sqrt((1 - |x|)/2) if |x| > 1/2, otherwise |x|. The series of asin(s) - s begins with s**3.
    """
    size = instructions.abs(x)
    large = size > 0.5
    z = instructions.select(large, instructions.fma(size, w.const(-0.5), w.const(0.5)), size * size)
    s = instructions.select(large, instructions.sqrt(z), size)
    return large, s, polynomial(z, _ASIN) * z * s


def asin(w: Width, x: Expr) -> Expr:
    """asin(x) = pi/2 - 2*asin(sqrt((1 - x)/2)) for x > 1/2."""
    large, s, tail = _arc_sine(w, x)
    far = _from_pi_less(w, s + s, tail + tail)
    return instructions.copysign(instructions.select(large, far, s + tail), x)


def acos(w: Width, x: Expr) -> Expr:
    """acos(x) = 2*asin(sqrt((1 - x)/2)) for x > 1/2."""
    large, s, tail = _arc_sine(w, x)
    angle = s + tail
    twice = angle + angle
    far = instructions.select(x > 0.0, twice, _from_pi(w, 1.0, twice))
    near = _from_pi_less(w, instructions.copysign(s, x), instructions.copysign(tail, x))
    return instructions.select(large, far, near)


def _angle(t: Expr) -> Expr:
    """atan(t) for |t| <= 1."""
    squared = t * t
    return instructions.fma(polynomial(squared, _ATAN) * squared, t, t)


def atan(w: Width, x: Expr) -> Expr:
    """atan(x) = pi/2 - atan(1/x) for x > 1."""
    size = instructions.abs(x)
    large = size > 1.0
    angle = _angle(instructions.select(large, 1.0 / size, size))
    return instructions.copysign(instructions.select(large, _from_pi(w, 0.5, angle), angle), x)


def atan2(w: Width, y: Expr, x: Expr) -> Expr:
    """The angle of the point (x, y): from -pi to pi, signed zeros and infinities as in C99."""
    height, width = instructions.abs(y), instructions.abs(x)
    steep = height > width
    above, below = instructions.select(steep, width, height), instructions.select(steep, height, width)
    quotient = instructions.select(instructions.eq(below, 0.0), above, above / below)
    angle = _angle(instructions.select(instructions.eq(above, math.inf), w.const(1.0), quotient))
    angle = instructions.select(steep, _from_pi(w, 0.5, angle), angle)
    angle = instructions.copysign(instructions.select(w.is_negative(x), _from_pi(w, 1.0, angle), angle), y)
    return instructions.select(is_nan(x) | is_nan(y), x + y, angle)
