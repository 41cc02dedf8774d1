"""The incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), and dP/da, of float64 arguments.

There are four methods: the power series of P, for x below a; the continued fraction of Q, for x above a; the
uniform asymptotic expansion of Temme (1979), for large a near x, where both of these are slow; and the power
series of 1 - Q for small a and x, where Q itself is small. All have the factor x^a e^-x / Gamma(a + 1). For
large a it keeps its digits as exp(-a (m - log(1 + m))) with 1 + m = x / a.

`Steps.enough` also tells how many terms Temme's expansion takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from staticgraph.compiler.graph.dtypes import float64
from staticgraph.compiler.kernel.approximate.gamma import LGAMMA
from staticgraph.compiler.kernel.approximate.width import polynomial
from staticgraph.compiler.kernel.expr import Const, Expr, Local
from staticgraph.compiler.kernel.iterative.steps import TERMS, Steps, choose
from staticgraph.compiler.kernel.iterative.temme import coefficients
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.functions import FUNCTIONS
from staticgraph.compiler.support.dataclass import dataclass

_LARGE = 20.0  # from this a on, Stirling's series is exact to double precision
_NEAR = 0.3  # the distance of x from a, over a, up to which Temme's expansion is taken
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)  # of the scaled gamma function
_ALTERNATING = 20  # terms of the power series of 1 - Q, for x up to 1.1


def _log(x: Expr) -> Expr:
    return FUNCTIONS["log"](x)


def _exp(x: Expr) -> Expr:
    return FUNCTIONS["exp"](x)


@dataclass(frozen=True, slots=True)
class _Case:
    """The arguments, harmless where no formula is needed, and what the methods share."""

    inside: Expr  # a and x are positive and finite
    a: Local
    x: Local
    m: Local  # (x - a) / a
    rest: Local  # m - log(1 + m)
    large: Expr  # the density is that of large a
    near: Local  # Temme's expansion is taken: 1 or 0
    power: Local  # e^-a(m - log(1 + m)) for large a, or the density of others
    scaled: Local  # sqrt(2 pi a) (a / e)^a / Gamma(a + 1) for large a
    density: Local  # x^a e^-x / Gamma(a + 1)


def _case(steps: Steps, a: Expr, x: Expr) -> _Case:
    inside = (a > 0.0) & (a < math.inf) & (x > 0.0) & (x < math.inf)
    a, x = (steps.value(choose(inside, value, 1.0)) for value in (a, x))
    m = steps.value((x - a) / a)
    # log(1 + m) = 2 atanh(r) with r = m / (2 + m); 2 r = m - m r, and the rest is a series of odd powers.
    r = steps.value(m / (m + 2.0))
    square = r * r
    odd = polynomial(square, [1 / k for k in range(3, 21, 2)]) * (square * r)
    rest = steps.value(
        choose(instructions.abs(m) <= 0.2, m * r - odd * 2.0, m - _log(choose(a >= 1.0, x / a, 1.0)))
    )
    large = a >= _LARGE
    log_gamma = FUNCTIONS["lgamma"](choose(large, 1.0, a + 1.0))
    power = steps.value(_exp(choose(large, -(a * rest), a * _log(x) - x - log_gamma)))
    reciprocal = 1.0 / a
    scaled = steps.value(
        _exp(choose(large, polynomial(reciprocal * reciprocal, _STIRLING) * -reciprocal, 0.0))
    )
    root = instructions.sqrt(choose(large, a, 1.0)) * math.sqrt(2 * math.pi)
    density = steps.value(choose(large, power * scaled / root, power))
    near = steps.value(choose((a > _LARGE) & (instructions.abs(x - a) < a * _NEAR), 1.0, 0.0))
    return _Case(inside, a, x, m, rest, large, near, power, scaled, density)


def lower(steps: Steps, a: Expr, x: Expr) -> Expr:
    """P(a, x)."""
    case = _case(steps, a, x)
    near = case.near > 0.0
    above = case.x > case.a + 1.0
    total, _ = _series(steps, case, choose(above, 0.0, 1.0) > case.near, slope=False)
    fraction, _ = _fraction(steps, case, choose(above, 1.0, 0.0) > case.near, slope=False)
    ratio = choose(above, 1.0 - fraction * case.a * case.density, total * case.density)
    return _with_ends(case, a, x, choose(near, _temme(steps, case, -1.0), ratio), 0.0, 1.0, (1.0, 0.0))


def upper(steps: Steps, a: Expr, x: Expr) -> Expr:
    """Q(a, x)."""
    case = _case(steps, a, x)
    near = case.near > 0.0
    above = case.x > case.a + 1.0
    small = (case.x <= 1.1) & (case.a < 1.0)
    below = choose(small, 0.0, choose(above, 0.0, 1.0))
    total, _ = _series(steps, case, below > case.near, slope=False)
    fraction, _ = _fraction(steps, case, choose(above, 1.0, 0.0) > case.near, slope=False)
    ratio = choose(above, fraction * case.a * case.density, 1.0 - total * case.density)
    ratio = choose(small, choose(above, ratio, _small(steps, case, small)), ratio)
    return _with_ends(case, a, x, choose(near, _temme(steps, case, 1.0), ratio), 1.0, 0.0, (0.0, 1.0))


def lower_by_order(steps: Steps, a: Expr, x: Expr) -> Expr:
    """dP/da."""
    case = _case(steps, a, x)
    found = _by_order(steps, case) * case.density
    return _with_ends(case, a, x, found, 0.0, 0.0, (math.nan, 0.0))


def quantile_by_order(steps: Steps, a: Expr, x: Expr) -> Expr:
    """dx/da for a fixed P(a, x): -dP/da over dP/dx, which is the density of a times a / x."""
    case = _case(steps, a, x)
    found = -_by_order(steps, case) * (case.x / case.a)
    return _with_ends(case, a, x, found, 0.0, math.inf, (math.nan, math.nan))


def _by_order(steps: Steps, case: _Case) -> Expr:
    """dP/da over the density, which may be too small for a number."""
    near = case.near > 0.0
    above = choose(case.x > case.a + 1.0, choose(case.x > 1.5, 1.0, 0.0), 0.0)
    total, by_total = _series(steps, case, 1.0 - above > case.near, slope=True)
    fraction, by_fraction = _fraction(steps, case, above > case.near, slope=True)
    difference = _log(case.x) - FUNCTIONS["digamma"](choose(above > 0.0, case.a, case.a + 1.0))
    of_fraction = -(fraction * difference + by_fraction) * case.a
    ratio = choose(above > 0.0, of_fraction, total * difference + by_total)
    return choose(near, _temme_by_order(steps, case), ratio)


def _with_ends(
    case: _Case,
    a: Expr,
    x: Expr,
    found: Expr,
    at_zero: float,
    at_infinity: float,
    of_orders: tuple[float, float],
) -> Expr:
    """`found` where both arguments are positive and finite, the limits at the ends, and else NaN.

    `at_zero` and `at_infinity` are limits in x, and `of_orders` those in a, at 0 and infinity.
    """
    eq = instructions.eq
    limit = choose(eq(x, 0.0), at_zero, choose(eq(x, math.inf), at_infinity, math.nan))
    outside = choose((a > 0.0) & (a < math.inf), limit, math.nan)
    outside = choose(eq(a, 0.0) & (x > 0.0), of_orders[0], outside)
    outside = choose(eq(a, math.inf) & (x >= 0.0) & (x < math.inf), of_orders[1], outside)
    return choose(case.inside, found, outside)


def _series(steps: Steps, case: _Case, wanted: Expr, slope: bool) -> tuple[Expr, Expr]:
    """P over the density, and the derivative of that by a: the terms x^n / ((a + 1) ... (a + n))."""
    below, total = steps.value(case.a), steps.value(1.0)
    term = steps.value(choose(wanted, 1.0, 0.0))
    slopes, by_a = steps.value(0.0), steps.value(0.0)
    with steps.repeat((term > total * steps.enough) & (below - case.a < float(TERMS))):
        for _ in range(2):  # a test for both
            steps.update(below, below + 1.0)
            reciprocal = steps.value(1.0 / below)
            steps.update(term, term * (case.x * reciprocal))
            steps.update(total, total + term)
            if slope:
                steps.update(slopes, slopes - reciprocal)
                steps.update(by_a, by_a + term * slopes)
    return total, by_a


def _fraction(steps: Steps, case: _Case, wanted: Expr, slope: bool) -> tuple[Expr, Expr]:
    """Q over a times the density, and the derivative of that by a, by Steed's method.

    A convergent is the one before it plus a difference, which is a multiple of the difference before.
    """
    b = steps.value(choose(wanted, case.x + 1.0 - case.a, 1.0))
    d = steps.value(1.0 / b)
    by_d = steps.value(d * d)  # of b the derivative is -1
    change, by_change = steps.value(d), steps.value(by_d)
    total, by_total = steps.value(d), steps.value(by_d)
    n = steps.value(choose(wanted, 0.0, float(TERMS)))
    more = instructions.abs(change) > total * steps.enough
    if slope:
        more = more | (instructions.abs(by_change) > steps.enough)
    with steps.repeat(more & (n < float(TERMS))):
        steps.update(n, n + 1.0)
        steps.update(b, b + 2.0)
        step = steps.value(n * (case.a - n))
        below = steps.value(step * d + b)
        following = steps.value(1.0 / below)
        if slope:
            by_following = steps.value((1.0 - n * d - step * by_d) * (following * following))
            ratio = steps.value(-(step * d) * following)
            by_ratio = -((n * d + step * by_d) * following + step * d * by_following)
            steps.update(by_change, by_change * ratio + change * by_ratio)
            steps.update(change, change * ratio)
            steps.update(by_total, by_total + by_change)
            steps.update(by_d, by_following)
        else:
            steps.update(change, change * (-(step * d) * following))
        steps.update(total, total + change)
        steps.update(d, following)
    return total, by_total


def _small(steps: Steps, case: _Case, wanted: Expr) -> Expr:
    """Q for a below 1 and small x, as 1 - x^a / Gamma(a + 1) less an alternating series."""
    a = case.a
    value = steps.value(case.x)  # and then the result
    with steps.once(wanted):
        from_two = choose(a > 0.5, a - 1.0, a)
        log_gamma = polynomial(from_two, LGAMMA) * from_two
        log_gamma = choose(a > 0.5, log_gamma, log_gamma - FUNCTIONS["log1p"](a))
        power = steps.value(a * _log(value) - log_gamma)
        factor: Expr = Const(1.0, float64)
        total: Expr = Const(0.0, float64)
        for n in range(1, _ALTERNATING):
            factor = factor * (value * (-1 / n))
            total = total + factor / (a + float(n))
        steps.update(value, -FUNCTIONS["expm1"](power) - a * _exp(power) * total)
    return value


# Temme's expansion: Q = erfc(h sqrt(a / 2)) / 2 + S and P = erfc(-h sqrt(a / 2)) / 2 - S. Here h has the sign
# of x - a, h^2 / 2 = m - log(1 + m), and S = exp(-a h^2 / 2) / sqrt(2 pi a) times the sum of c_k(h) / a^k.


def _rows(steps: Steps) -> Sequence[Sequence[float]]:
    """Return as many coefficients as the precision needs, for a above 20 and h below 0.4."""
    orders, terms = (12, 20) if steps.enough < 1e-12 else (5, 10)
    return [row[: terms - k // 2] for k, row in enumerate(coefficients()[:orders])]


def _slope(coefficients: Sequence[float]) -> list[float]:
    return [n * c for n, c in enumerate(coefficients)][1:]


def _temme(steps: Steps, case: _Case, side: float) -> Expr:
    """Q for the side 1, P for the side -1."""
    a, inverse = case.a, steps.value(1.0 / case.a)
    value = steps.value(
        instructions.copysign(instructions.sqrt(case.rest * 2.0), case.m)
    )  # h, then the result
    with steps.once(case.near > 0.0):
        h = value
        total: Expr = Const(0.0, float64)
        for row in reversed(_rows(steps)):
            total = total * inverse + polynomial(h, row)
        rest = case.power / (instructions.sqrt(a) * math.sqrt(2 * math.pi)) * total
        tail = FUNCTIONS["erfc"](h * instructions.sqrt(a * 0.5) * side)
        steps.update(value, tail * 0.5 + rest * side)
    return value


def _temme_by_order(steps: Steps, case: _Case) -> Expr:
    """dP/da over the density.

    The exponent a h^2 / 2 has the derivative -log(1 + m), and h the derivative `h_by_a`.
    """
    a, inverse = case.a, steps.value(1.0 / case.a)
    value = steps.value(
        instructions.copysign(instructions.sqrt(case.rest * 2.0), case.m)
    )  # h, then the result
    with steps.once(case.near > 0.0):
        h = value
        zero: Expr = Const(0.0, float64)
        total = by_h = by_a = zero
        for k, row in reversed(list(enumerate(_rows(steps)))):
            along = polynomial(h, row)
            total, by_h = total * inverse + along, by_h * inverse + polynomial(h, _slope(row))
            by_a = by_a * inverse - along * (inverse * float(k))
        ratio = choose(instructions.eq(h, 0.0), 1.0, FUNCTIONS["log1p"](case.m) / h)
        h_by_a = -ratio / a - h / (a * 2.0)
        inner = -ratio - total * (h * ratio - 1.0 / (a * 2.0)) - by_h * h_by_a - by_a
        steps.update(value, inner / case.scaled)
    return value
