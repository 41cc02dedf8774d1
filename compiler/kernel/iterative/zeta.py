"""The Hurwitz zeta function and the polygamma functions, of float64 arguments."""

from __future__ import annotations

import math

from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.iterative.steps import Steps, choose
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.functions import FUNCTIONS

_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_LONGEST = -1e7  # a q below that takes more terms than anybody waits for


def zeta(steps: Steps, x: Expr, q: Expr) -> Expr:
    """The sum of (q + n)^-x: terms up to a large q + n, then the formula of Euler and Maclaurin."""
    whole = instructions.eq(instructions.floor(q), q)
    power_is_whole = instructions.eq(instructions.floor(x), x)
    defined = (q > 0.0) | (power_is_whole & instructions.ne(instructions.floor(q), q) & (q > _LONGEST))
    inside = (x > 1.0) & (x < math.inf) & (q < math.inf) & (q > -math.inf) & defined
    x_inside, w = steps.value(choose(inside, x, 2.0)), steps.value(choose(inside, q, 100.0))
    negative = steps.value(-x_inside)
    # What the formula leaves out of the sum is below 2^-56 from 12 + x on, and below 2^-29 from 5 + x / 2.
    large = steps.value(x_inside * 0.5 + 5.0 if steps.single else x_inside + 12.0)
    total = steps.value(0.0)
    first = steps.value(instructions.abs(_power(steps, w, negative)))
    last = steps.value(math.inf)
    enough = steps.enough
    with steps.repeat((w < large) & ((w <= 1.0) | (last > first * enough))):
        steps.update(last, _power(steps, w, negative))
        steps.update(total, total + last)
        steps.update(w, w + 1.0)
    power = _power(steps, w, negative)
    rest = power * w / (x_inside - 1.0) + power * 0.5
    inverse = 1.0 / w
    square = inverse * inverse
    factor = x_inside * power * inverse * 0.5
    for k, bernoulli in enumerate(_BERNOULLI, 1):
        rest = rest + factor * bernoulli
        growth = (x_inside + (2.0 * k - 1.0)) * (x_inside + 2.0 * k) * square
        factor = factor * (growth * (1 / ((2 * k + 1) * (2 * k + 2))))
    poles = choose(whole & (q <= 0.0), math.inf, math.nan)
    vanishes = instructions.eq(q, math.inf) & (x > 1.0)
    outside = choose(vanishes, 0.0, choose((x > 1.0) & (x < math.inf), poles, math.nan))
    one = choose(instructions.eq(q, 1.0), 1.0, choose(q < 1.0, math.inf, math.nan))
    outside = choose(instructions.eq(x, math.inf), choose(q > 1.0, 0.0, one), outside)
    outside = choose(instructions.eq(x, 1.0), math.inf, outside)
    return choose(inside, total + rest, outside)


def _power(steps: Steps, w: Expr, exponent: Expr) -> Expr:
    """w ** exponent for a w that is not 0, and if that is negative for a whole exponent."""
    if not steps.single:
        return steps.value(FUNCTIONS["pow"](w, exponent))
    size = FUNCTIONS["exp"](exponent * FUNCTIONS["log"](instructions.abs(w)))  # within 2^-40
    half = exponent * 0.5
    odd = instructions.ne(instructions.floor(half), half)
    return steps.value(choose((w < 0.0) & odd, -size, size))


def polygamma(steps: Steps, order: Expr, x: Expr) -> Expr:
    """The derivative of order `order`, a whole number, of digamma."""
    exists = (order >= 0.0) & (order < math.inf) & instructions.eq(instructions.floor(order), order)
    higher = exists & (order > 0.0)
    place = steps.value(choose(higher, order, 1.0))
    sum_ = steps.value(zeta(steps, place + 1.0, choose(higher, x, 100.0)))
    size = FUNCTIONS["lgamma"](place + 1.0)
    scale = choose(size < 709.0, FUNCTIONS["exp"](size), math.inf)
    even = instructions.eq(instructions.floor(place * 0.5) * 2.0, place)
    value = choose(instructions.eq(sum_, 0.0), 0.0, scale * sum_)
    value = choose(even, -value, value)
    low = steps.value(math.nan)
    with steps.once(instructions.eq(order, 0.0)) as left:
        steps.update(low, FUNCTIONS["digamma"](choose(left > 0.0, x, 1.0)))
    value = choose(order > 0.0, value, low)
    value = choose(instructions.eq(x, math.inf), choose(order > 0.0, 0.0, math.inf), value)
    return choose(exists, value, math.nan)
