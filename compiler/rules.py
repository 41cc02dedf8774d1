"""The rewrite rules, as tables by subject: each row has two sides, an op at the root of the left one.

* Arithmetic: constants travel outwards, where they meet and fold; formulas that lose digits or overflow take
  a form that does not.
* Logic: truth values, selections and conversions.
* Movement: two ops that only move elements become one, and those that move nothing disappear. Arithmetic
  broadcasts by itself, and what is repeated had better be repeated late.

`passes/simplify.py` says at which ops the rules of a table are; `rewrite.py` applies them.
"""

from __future__ import annotations

import math

import numpy as np

from staticgraph.compiler.graph.builder import number
from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.graph.shapes import normalize_axes
from staticgraph.compiler.graph.sizes import same
from staticgraph.compiler.rewrite import (
    IMPROVES,
    NONFINITE,
    ROUNDING,
    Rule,
    RuleSet,
    attributes,
    compute,
    numbers,
    rule,
    variables,
)

x, y, z, scale, truth = variables("x y z scale truth")
c, d = numbers("c d")
(to,) = attributes("to")
p, q = attributes("p q")
Axes = tuple[int, ...] | None


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


def _mean_first() -> list[Rule]:
    """A normalization that scales before it shifts loses the digits that elements share with their mean."""
    mean = ops.reduce_sum(z, axis=p, keepdims=True) * c
    flat = ops.squeeze(mean, axis=q)
    return [
        rule("subtract mean first", x * scale + ops.subtract(y, mean * scale),
             ops.subtract(x, mean) * scale + y, inexact=IMPROVES),
        rule("subtract flat mean first", x * scale + ops.subtract(y, flat * scale),
             ops.subtract(x, flat) * scale + y, inexact=IMPROVES),
        rule("subtract mean first, without offset", x * scale + mean * scale,
             (x + mean) * scale, inexact=IMPROVES),
        rule("subtract flat mean first, without offset", x * scale + -flat * scale,
             ops.subtract(x, flat) * scale, inexact=IMPROVES),
    ]


normalization = RuleSet(add=_mean_first)


def same_dtype(x: Value, to: DType) -> bool:
    """Return True if a conversion changes nothing."""
    return x.dtype is to


logic = RuleSet(
    logical_not=lambda: [
        rule("not twice", ops.logical_not(ops.logical_not(x)), x),
    ],
    logical_and=lambda: [
        rule("and itself", ops.logical_and(x, x), x),
        rule("and true", ops.logical_and(x, True), x),
        rule("and false", ops.logical_and(x, False), False),
    ],
    logical_or=lambda: [
        rule("or itself", ops.logical_or(x, x), x),
        rule("or true", ops.logical_or(x, True), True),
        rule("or false", ops.logical_or(x, False), x),
    ],
    select=lambda: [
        rule("select the same", ops.select(truth, x, x), x),
        rule("select by true", ops.select(True, x, y), x),
        rule("select by false", ops.select(False, x, y), y),
        rule("select by not", ops.select(ops.logical_not(truth), x, y), ops.select(truth, y, x)),
    ],
    cast=lambda: [
        rule("cast to its own dtype", ops.cast(x, dtype=to), x, when=same_dtype),
    ],
    maximum=lambda: [
        rule("maximum with itself", ops.maximum(x, x), x),
    ],
    minimum=lambda: [
        rule("minimum with itself", ops.minimum(x, x), x),
    ],
)




def full(perm: Axes, rank: int) -> tuple[int, ...]:
    """A permutation with None, which reverses the axes, spelled out."""
    return tuple(reversed(range(rank))) if perm is None else tuple(a % rank for a in perm)


def composed(x: Value, p: Axes, q: Axes) -> tuple[int, ...]:
    """The permutation that does what `p` and then `q` do."""
    first, second = full(p, x.rank), full(q, x.rank)
    return tuple(map(first.__getitem__, second))


def stays(x: Value, p: Axes) -> bool:
    """Return True if a permutation leaves every axis in place."""
    return full(p, x.rank) == tuple(range(x.rank))


def without(x: Value, p: Axes) -> tuple[int, ...]:
    """The shape of `x` without the axes `p`."""
    axes = normalize_axes(p, x.rank)
    return tuple(n for d, n in enumerate(x.shape) if d not in axes)


def is_whole(x: Value, p: tuple[int, ...]) -> bool:
    """Return True if a reshape or broadcast to `p` changes nothing."""
    return len(p) == x.rank and all(same(n, -1) or same(n, m) for n, m in zip(p, x.shape, strict=True))


def adds_nothing(x: Value, p: tuple[tuple[int, int], ...]) -> bool:
    """Return True if there is no padding, along any axis."""
    return all(same(n, 0) for pair in p for n in pair)


def over_ones(x: Value, p: Axes, **_: object) -> bool:
    """Return True if a reduction only combines axes of size one, so that nothing is combined."""
    return all(same(x.shape[a], 1) for a in normalize_axes(p, x.rank))


movement = RuleSet(
    transpose=lambda: [
        rule("transpose twice", ops.transpose(ops.transpose(x, perm=p), perm=q),
             ops.transpose(x, perm=compute(composed, x, p, q))),
        rule("transpose to itself", ops.transpose(x, perm=p), x, when=stays),
    ],
    reshape=lambda: [
        rule("reshape twice", ops.reshape(ops.reshape(x, shape=p), shape=q), ops.reshape(x, shape=q)),
        rule("reshape to itself", ops.reshape(x, shape=p), x, when=is_whole),
    ],
    pad=lambda: [
        rule("pad with nothing", ops.pad(x, paddings=p), x, when=adds_nothing),
    ],
    broadcast_to=lambda: [
        rule("broadcast twice", ops.broadcast_to(ops.broadcast_to(x, shape=p), shape=q),
             ops.broadcast_to(x, shape=q)),
        rule("broadcast to itself", ops.broadcast_to(x, shape=p), x, when=is_whole),
    ],
    reduce_sum=lambda: [
        rule("sum over ones", ops.reduce_sum(x, axis=p, keepdims=False),
             lambda: ops.reshape(x, shape=compute(without, x, p)), when=over_ones),
        rule("sum over ones, kept", ops.reduce_sum(x, axis=p, keepdims=True), x, when=over_ones),
    ],
    reduce_max=lambda: [
        rule("maximum over ones", ops.reduce_max(x, axis=p, keepdims=False),
             lambda: ops.reshape(x, shape=compute(without, x, p)), when=over_ones),
        rule("maximum over ones, kept", ops.reduce_max(x, axis=p, keepdims=True), x, when=over_ones),
    ],
)

# Rules of ops that most graphs have, about a value that few have: see `passes/simplify.py`.
broadcasts = RuleSet(
    add=lambda: [
        rule("add broadcast", x + ops.broadcast_to(y, shape=p), x + y),
    ],
    subtract=lambda: [
        rule("subtract broadcast", ops.subtract(x, ops.broadcast_to(y, shape=p)), ops.subtract(x, y)),
        rule("subtract from broadcast", ops.subtract(ops.broadcast_to(y, shape=p), x), ops.subtract(y, x)),
    ],
    multiply=lambda: [
        rule("multiply by broadcast", x * ops.broadcast_to(y, shape=p), x * y),
    ],
    realdiv=lambda: [
        rule("divide broadcast", ops.realdiv(ops.broadcast_to(x, shape=p), y), ops.realdiv(x, y)),
        rule("divide by broadcast", ops.realdiv(x, ops.broadcast_to(y, shape=p)), ops.realdiv(x, y)),
    ],
)
