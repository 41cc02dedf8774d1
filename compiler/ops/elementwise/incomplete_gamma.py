"""The incomplete gamma functions of Python numbers, P(a, x) and Q(a, x) = 1 - P(a, x), and dP/da.

There are four methods: the power series of P, for x below a; the continued fraction of Q, for x above a; the
uniform asymptotic expansion of Temme (1979), for large a near x, where both of these are slow; and the power
series of 1 - Q for small a and x, where Q itself is small. All have the factor x^a e^-x / Gamma(a + 1). For
large a it keeps its digits as exp(-a (m - log(1 + m))) with 1 + m = x / a.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from staticgraph.compiler.kernel.iterative.temme import coefficients

_ENOUGH = 1e-17  # a term this small against its sum changes nothing
_TINY = 1e-300  # stands for 0 in a denominator of a continued fraction
_LARGE = 20.0  # from this a on, Stirling's series is exact to double precision
_NEAR = 0.3  # the distance of x from a, over a, up to which Temme's expansion is taken
_STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
)  # log of the scaled gamma function
_ZETA = (
    1.6449340668482264, 1.2020569031595943, 1.0823232337111382, 1.0369277551433699, 1.0173430619844491,
    1.0083492773819228, 1.0040773561979443, 1.0020083928260822, 1.0009945751278181, 1.0004941886041195,
    1.0002460865533080, 1.0001227133475785, 1.0000612481350587, 1.0000305882363070, 1.0000152822594086,
    1.0000076371976379, 1.0000038172932650, 1.0000019082127166, 1.0000009539620339,
)
_EULER = 0.57721566490153286


def lower(a: float, x: float) -> float:
    """Return P(a, x)."""
    known = _outside(a, x)
    if known is not None:
        return known
    if _is_near(a, x):
        return _temme(a, x, -1.0)
    return 1 - _fraction(a, x)[0] * a * _density(a, x) if x > a + 1 else _series(a, x)[0] * _density(a, x)


def upper(a: float, x: float) -> float:
    """Return Q(a, x)."""
    known = _outside(a, x)
    if known is not None:
        return 1 - known
    if _is_near(a, x):
        return _temme(a, x, 1.0)
    if x > a + 1:
        return _fraction(a, x)[0] * a * _density(a, x)
    return _small(a, x) if x <= 1.1 and a < 1 else 1 - _series(a, x)[0] * _density(a, x)


def by_order(a: float, x: float, digamma: Callable[[float], float]) -> float:
    """Return dP/da, where `digamma` is the derivative of the logarithm of the gamma function."""
    known = _outside(a, x)
    if known is not None:
        return math.nan if a == 0 else known * 0
    return _by_order(a, x, digamma) * _density(a, x)


def quantile_by_order(a: float, x: float, digamma: Callable[[float], float]) -> float:
    """Return dx/da for a fixed P(a, x)."""
    if a == 0 or a == math.inf:
        return math.nan
    known = _outside(a, x)
    if known is not None:
        return math.inf if known == 1 else known
    return -_by_order(a, x, digamma) * x / a


def _by_order(a: float, x: float, digamma: Callable[[float], float]) -> float:
    """Return dP/da over the density, which may be too small for a number."""
    if _is_near(a, x):
        return _temme_by_order(a, x)
    if x > a + 1 and x > 1.5:
        value, slope = _fraction(a, x)
        return -(value * (math.log(x) - digamma(a)) + slope) * a
    value, slope = _series(a, x)
    return value * (math.log(x) - digamma(a + 1)) + slope


def _outside(a: float, x: float) -> float | None:
    """Return P where no formula is needed, or None. At the ends of `a` and `x` it is the limit."""
    if not (a >= 0 and x >= 0):
        return math.nan
    if a == 0:
        return 1.0 if x > 0 else math.nan
    if a == math.inf:
        return 0.0 if x < math.inf else math.nan
    return 0.0 if x == 0 else 1.0 if math.isinf(x) else None


def _is_near(a: float, x: float) -> bool:
    return a > _LARGE and abs(x - a) < _NEAR * a


def _rest(a: float, x: float) -> float:
    """Return m - log(1 + m)."""
    m = (x - a) / a
    if abs(m) > 0.2:
        return m - (math.log(x) - math.log(a) if m < -0.9 else math.log(x / a))
    # log(1 + m) = 2 atanh(r) with r = m / (2 + m); 2 r = m - m r, and the rest is a series of odd powers.
    r = m / (2 + m)
    term, total, k = r * r * r, 0.0, 3
    while abs(term) > _ENOUGH * abs(r):
        total += term / k
        term *= r * r
        k += 2
    return m * r - 2 * total


def _scaled_gamma(a: float) -> float:
    """Return Gamma(a + 1) / (sqrt(2 pi a) (a / e)^a) for large a."""
    total = 0.0
    for c in reversed(_STIRLING):
        total = total / (a * a) + c
    return math.exp(total / a)


def _density(a: float, x: float) -> float:
    """Return x^a e^-x / Gamma(a + 1)."""
    if a < _LARGE:
        return math.exp(a * math.log(x) - x - math.lgamma(a + 1))
    return math.exp(-a * _rest(a, x)) / (math.sqrt(2 * math.pi) * math.sqrt(a) * _scaled_gamma(a))


def _series(a: float, x: float) -> tuple[float, float]:
    """Return P over the density, and the part of dP/da over it that comes from the terms of the series.

    These are x^n / ((a + 1) ... (a + n)).
    """
    term, slope, total, derivative, n = 1.0, 0.0, 1.0, 0.0, 0
    while term > _ENOUGH * total or n < x - a:
        n += 1
        term *= x / (a + n)
        slope -= 1 / (a + n)
        total += term
        derivative += term * slope
    return total, derivative


def _fraction(a: float, x: float) -> tuple[float, float]:
    """Return Q over a times the density, and the part of dQ/da from the fraction, by Lentz's method.

    Each ratio of the method comes with its derivative by a.
    """
    b, db = x + 1 - a, -1.0
    c, dc, d = 1 / _TINY, 0.0, 1 / b
    dd = -d * d * db
    h, dh = d, dd
    for n in range(1, 10000):
        step, dstep = -n * (n - a), float(n)
        b += 2
        below = step * d + b or _TINY
        dd = -(dstep * d + step * dd + db) / (below * below)
        d = 1 / below
        dc = db + (dstep - step * dc / c) / c
        c = b + step / c or _TINY
        ratio, dratio = c * d, dc * d + c * dd
        h, dh = h * ratio, dh * ratio + h * dratio
        if abs(ratio - 1) < 1e-16 and abs(dratio) < 1e-16:
            break
    return h, dh


def _small(a: float, x: float) -> float:
    """Return Q for a below 1 and small x, as 1 - x^a / Gamma(a + 1) less an alternating series."""
    power = a * math.log(x) - _log_gamma_1p(a)
    factor, total, n = 1.0, 0.0, 0
    while abs(factor) > _ENOUGH:
        n += 1
        factor *= -x / n
        total += factor / (a + n)
    return -math.expm1(power) - a * math.exp(power) * total


def _log_gamma_1p(a: float) -> float:
    """Return log(Gamma(1 + a)) for a in [0, 1], with all digits near 0."""
    if a > 0.25:
        return math.lgamma(1 + a)
    total = 0.0
    for k in range(len(_ZETA) + 1, 1, -1):
        total = (total + (_ZETA[k - 2] / k) * (-1) ** k) * a
    return (total - _EULER) * a


# Temme's expansion: Q = erfc(h sqrt(a / 2)) / 2 + S and P = erfc(-h sqrt(a / 2)) / 2 - S. Here h has the sign
# of x - a, h^2 / 2 = m - log(1 + m), and S = exp(-a h^2 / 2) / sqrt(2 pi a) times the sum of c_k(h) / a^k.


def _place(a: float, x: float) -> tuple[float, float, float]:
    """Return m, h and a h^2 / 2."""
    m, rest = (x - a) / a, _rest(a, x)
    return m, math.copysign(math.sqrt(2 * rest), m), a * rest


def _sums(a: float, h: float) -> tuple[float, float, float]:
    """Return the sum of c_k(h) / a^k, and its derivatives by h and, with h fixed, by a."""
    total = by_h = by_a = 0.0
    scale = 1.0
    for k, row in enumerate(coefficients()):
        value = slope = 0.0
        for c in reversed(row):
            slope = slope * h + value
            value = value * h + c
        total += value * scale
        by_h += slope * scale
        by_a -= k * value * scale / a
        scale /= a
        if scale < _ENOUGH:
            break
    return total, by_h, by_a


def _temme(a: float, x: float, side: float) -> float:
    """Return Q for the side 1, P for the side -1."""
    _, h, exponent = _place(a, x)
    rest = math.exp(-exponent) / (math.sqrt(2 * math.pi) * math.sqrt(a)) * _sums(a, h)[0]
    return 0.5 * math.erfc(side * h * math.sqrt(a / 2)) + side * rest


def _temme_by_order(a: float, x: float) -> float:
    """Return dP/da over the density.

    The exponent a h^2 / 2 has the derivative -log(1 + m), and h the derivative by_a.
    """
    m, h, _ = _place(a, x)
    ratio = math.log1p(m) / h if h else 1.0
    total, by_h, by_a = _sums(a, h)
    h_by_a = -ratio / a - h / (2 * a)
    inner = -ratio - total * (h * ratio - 1 / (2 * a)) - by_h * h_by_a - by_a
    return inner * _scaled_gamma(a)
