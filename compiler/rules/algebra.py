"""Identities of arithmetic, and formulas that lose digits or overflow, in a form that does not.

Constants travel outwards, where they meet and fold.
"""

from __future__ import annotations

import math

import numpy as np

from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.rewrite.pattern import numbers, variables
from staticgraph.compiler.rewrite.rule import IMPROVES, NONFINITE, ROUNDING, RuleSet, rule

x, y = variables("x y")
c, d = numbers("c d")


def floating(x: Value, **_: Value) -> bool:
    """Integers divide with remainder, and wrap where they overflow."""
    return x.dtype.is_floating


def integer(x: Value, **_: Value) -> bool:
    """There is one zero only."""
    return x.dtype.is_integer


def invertible(x: Value, c: Value) -> bool:
    """Return True if `x` is floating and 1 / c is exact, so that the product is the quotient."""
    if not floating(x):
        return False
    size = abs(number(c) or 0.0)
    return size > 0 and _is_normal(1 / size, c) and math.frexp(size)[0] == 0.5


def added_exactly(x: Value, c: Value, d: Value) -> bool:
    """Return True if c + d has all its digits, so that x + (c + d) is rounded once.

    Numbers of different signs stay apart: (x + c) - c with a large c is how programs round x.
    """
    if not floating(x):
        return False
    with np.errstate(over="ignore"):
        one, two = c.dtype.numpy.type(number(c)), d.dtype.numpy.type(number(d))
        total = one + two
        return bool(one * two > 0 and np.isfinite(total) and total - one == two and total - two == one)


def multiplied_in_range(x: Value, c: Value, d: Value) -> bool:
    """Return True if `x` is floating and c * d has all its digits: it is neither infinite nor too small."""
    return floating(x) and _is_normal(abs((number(c) or 0.0) * (number(d) or 0.0)), c)


def _is_normal(size: float, like: Value) -> bool:
    """Return True if a positive number keeps all its digits in the dtype of a value."""
    info = np.finfo(like.dtype.numpy)
    return float(info.tiny) <= size <= float(info.max)


# Most graphs have additions and products, and few of their rules apply: these make their right sides late.
algebra = RuleSet(
    add=lambda: [
        rule("add zero", x + 0, x, inexact=IMPROVES),  # -0 + 0 is 0
        rule("add zero to integer", x + 0, x, when=integer),
        rule("add negative", x + -y, lambda: ops.subtract(x, y)),
        rule("gather addends", (x + c) + d, lambda: x + (c + d), inexact=IMPROVES, when=added_exactly),
        rule("gather addends of integers", (x + c) + d, lambda: x + (c + d), when=integer),
    ],
    subtract=lambda: [
        rule("subtract zero", ops.subtract(x, 0), x),
        rule("subtract from zero", ops.subtract(0, x), -x, inexact=IMPROVES),
        rule("subtract negative", ops.subtract(x, -y), x + y),
        rule("self difference", ops.subtract(x, x), 0, inexact=NONFINITE),  # inf - inf
    ],
    multiply=lambda: [
        rule("multiply by one", x * 1, x),
        rule("multiply by minus one", x * -1, lambda: -x),
        rule("multiply negatives", -x * -y, lambda: x * y),
        rule("gather factors", (x * c) * d, lambda: x * (c * d), inexact=IMPROVES,
             when=multiplied_in_range),
        rule("factor out of negative", -x * c, lambda: x * -c),
        rule("multiply by zero", x * 0, 0, inexact=NONFINITE),  # inf * 0
        rule("self product", x * x, lambda: ops.square(x)),
    ],
    realdiv=lambda: [
        rule("divide by one", ops.realdiv(x, 1), x),
        rule("divide by power of two", ops.realdiv(x, c), x * ops.realdiv(1, c), when=invertible),
        rule("self quotient", ops.realdiv(x, x), 1, inexact=NONFINITE),  # 0 / 0
    ],
    negative=lambda: [
        rule("negate twice", ops.negative(-x), x),
        rule("negative of product", -(x * c), x * -c),
    ],
    abs=lambda: [
        rule("absolute value of negative", ops.abs(-x), ops.abs(x)),
        rule("absolute value twice", ops.abs(ops.abs(x)), ops.abs(x)),
    ],
    square=lambda: [
        rule("square of negative", ops.square(-x), ops.square(x)),
    ],
    sqrt=lambda: [
        rule("square root of square", ops.sqrt(ops.square(x)), ops.abs(x), inexact=IMPROVES, when=floating),
    ],
    pow=lambda: [
        rule("power of one", ops.pow(x, 1), x),
        rule("power of two", ops.pow(x, 2), ops.square(x)),
        rule("power of three", ops.pow(x, 3), x * ops.square(x), inexact=ROUNDING),
        rule("power of four", ops.pow(x, 4), ops.square(ops.square(x)), inexact=ROUNDING),
        rule("power of minus one", ops.pow(x, -1), ops.realdiv(1, x), inexact=ROUNDING, when=floating),
        # Other than roots, these powers are positive at -0 and at -inf.
        rule("power of half", ops.pow(x, 0.5),
             ops.select(ops.equal(x, -np.inf), np.inf, ops.abs(ops.sqrt(x))),
             inexact=IMPROVES, when=floating),
        rule("power of minus half", ops.pow(x, -0.5),
             ops.select(ops.equal(x, -np.inf), 0, ops.abs(ops.rsqrt(x))), inexact=IMPROVES, when=floating),
    ],
    log=lambda: [
        rule("log of exp", ops.log(ops.exp(x)), x, inexact=IMPROVES),  # exp(x) may overflow
    ],
    exp=lambda: [
        rule("exp of log", ops.exp(ops.log(x)), x, inexact=NONFINITE),  # NaN where x < 0
    ],
)

stability = RuleSet(
    log=lambda: [
        rule("log of one plus", ops.log(x + 1), ops.log1p(x), inexact=IMPROVES),
        rule("log of sigmoid", ops.log(ops.sigmoid(x)), -ops.softplus(-x), inexact=IMPROVES),
    ],
    subtract=lambda: [
        rule("one minus sigmoid", ops.subtract(1, ops.sigmoid(x)), ops.sigmoid(-x), inexact=IMPROVES,
             single_use=True),
    ],
    log1p=lambda: [
        rule("softplus", ops.log1p(ops.exp(x)), ops.softplus(x), inexact=IMPROVES),
    ],
    realdiv=lambda: [
        rule("reciprocal root", ops.realdiv(1, ops.sqrt(x)), ops.rsqrt(x), inexact=IMPROVES),
    ],
)

# Rules of ops that most graphs have, about a value that few have: see `passes/simplify.py`.
exponentials = RuleSet(
    add=lambda: [
        rule("exp plus minus one", ops.exp(x) + -1, ops.expm1(x), inexact=IMPROVES),
    ],
    subtract=lambda: [
        rule("exp minus one", ops.subtract(ops.exp(x), 1), ops.expm1(x), inexact=IMPROVES),
    ],
)
