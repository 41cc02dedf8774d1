"""The regularised incomplete beta function of float64 arguments, by its continued fraction (DLMF 8.17.22)."""

from __future__ import annotations

import math

from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.iterative.steps import TERMS, Steps, choose
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.functions import FUNCTIONS


def betainc(steps: Steps, a: Expr, b: Expr, x: Expr) -> Expr:
    """The share of the integral of t^(a - 1) (1 - t)^(b - 1) that is below x; NaN outside.

    The fraction converges fast for x below (a + 1) / (a + b + 2). Beyond, 1 minus the other side is taken.
    """
    inside = (a > 0.0) & (a < math.inf) & (b > 0.0) & (b < math.inf) & (x > 0.0) & (x < 1.0)
    first, second, share = (steps.value(choose(inside, value, 0.5)) for value in (a, b, x))
    lgamma, log, log1p = (FUNCTIONS[name] for name in ("lgamma", "log", "log1p"))
    beta = lgamma(first + second) - lgamma(first) - lgamma(second)
    power = steps.value(FUNCTIONS["exp"](beta + first * log(share) + second * log1p(-share)))
    below = steps.value(choose(share < (first + 1.0) / (first + second + 2.0), 1.0, 0.0))
    own = steps.value(choose(below > 0.0, first, second))
    other = steps.value(choose(below > 0.0, second, first))
    part = steps.value(choose(below > 0.0, share, 1.0 - share))
    found = steps.value(power / own * _fraction(steps, own, other, part))
    result = choose(below > 0.0, found, 1.0 - found)
    # With a parameter at an end, all of the share is at one end of x.
    eq = instructions.eq
    one_end = instructions.ne(a, b) | ((a > 0.0) & (a < math.inf))
    valid = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0) & one_end
    end = choose(eq(a, 0.0) | eq(b, math.inf), 1.0, 0.0)
    end = choose(eq(x, 0.0) | eq(x, 1.0), x, end)
    return choose(inside, result, choose(valid, end, math.nan))


def _fraction(steps: Steps, a: Expr, b: Expr, x: Expr) -> Expr:
    """1 / (1 + s_1 / (1 + s_2 / (1 + ...))), by Steed's method."""
    d = steps.value(1.0 / (1.0 - (a + b) * x / (a + 1.0)))
    change = steps.value(d - 1.0)
    total, n = steps.value(d), steps.value(0.0)
    with steps.repeat((instructions.abs(change) > total * steps.enough) & (n < float(TERMS))):
        steps.update(n, n + 1.0)
        place = steps.value(n * 2.0 + a)
        even = n * (b - n) * x / ((place - 1.0) * place)
        odd = -((a + n) * (a + b + n)) * x / (place * (place + 1.0))
        for step in (even, odd):
            product = steps.value(steps.value(step) * d)
            following = steps.value(1.0 / (product + 1.0))
            steps.update(change, change * (-product * following))
            steps.update(total, total + change)
            steps.update(d, following)
    return total
