"""Fourier transforms of a few complex points, written out, and the lengths that are made of them."""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Sequence

from staticgraph.compiler.kernel import scalar
from staticgraph.compiler.kernel.expr import Const, Expr

RADICES = (8, 4, 13, 11, 7, 5, 3, 2)  # in the order in which a length is divided by them


@functools.lru_cache(256)
def radices_of(n: int) -> tuple[int, ...] | None:
    """The radices of the stages for n points; None if a prime factor is too large, or n is not positive."""
    found: list[int] = []
    if n < 1:
        return None
    for radix in RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    return tuple(found) if n == 1 else None


def small_transform(points: Sequence[Expr], sign: float) -> list[Expr]:
    """The transform of a few points, by halves as long as their number is even."""
    n = len(points)
    if n == 1:
        return list(points)
    if n % 2 == 0:
        even, odd = small_transform(points[::2], sign), small_transform(points[1::2], sign)
        turned = [_turned(v, sign * k / n) for k, v in enumerate(odd)]
        pairs = list(zip(even, turned, strict=True))
        return [a + b for a, b in pairs] + [a - b for a, b in pairs]
    # Points q and n - q are turned by opposite angles: their sum counts with the cosine, their difference
    # with the sine. The results k and n - k differ by the sign of the latter.
    opposite = [(points[q], points[n - q]) for q in range(1, n // 2 + 1)]
    sums = [parts(a + b) for a, b in opposite]
    differences = [parts(a - b) for a, b in opposite]
    first = parts(points[0])
    made = list(points)
    made[0] = functools.reduce(operator.add, [scalar.complex(*total) for total in sums], points[0])
    for k in range(1, n // 2 + 1):
        units = [cmath.exp(2j * math.pi * sign * (k * q % n) / n) for q in range(1, n // 2 + 1)]
        along: list[Expr] = list(first)
        across: list[Expr] = [Const(0.0, first[0].dtype)] * 2
        for unit, total, difference in zip(units, sums, differences, strict=True):
            along = [v + part * unit.real for v, part in zip(along, total, strict=True)]
            across = [v + part * unit.imag for v, part in zip(across, difference, strict=True)]
        made[k] = scalar.complex(along[0] - across[1], along[1] + across[0])
        made[n - k] = scalar.complex(along[0] + across[1], along[1] - across[0])
    return made


def parts(x: Expr) -> tuple[Expr, Expr]:
    """The real and the imaginary part."""
    return scalar.real(x), scalar.imag(x)


def _turned(x: Expr, turn: float) -> Expr:
    """`x` turned by a part of the circle."""
    a, b = parts(x)
    match turn * 4 % 4:
        case 0:
            return x
        case 1:
            return scalar.complex(-b, a)
        case 2:
            return -x
        case 3:
            return scalar.complex(b, -a)
        case 0.5 | 1.5 | 2.5 | 3.5 as eighth:  # sums before products: two of these and no more
            half = math.sqrt(0.5)
            re, im = (-1.0 if eighth in (1.5, 2.5) else 1.0), (-1.0 if eighth in (2.5, 3.5) else 1.0)
            return scalar.complex((a * re - b * im) * half, (a * im + b * re) * half)
    unit = cmath.exp(2j * math.pi * turn)
    return scalar.complex(a * unit.real - b * unit.imag, a * unit.imag + b * unit.real)
