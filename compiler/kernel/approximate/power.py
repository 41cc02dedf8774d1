"""pow: exp(y * log|x|) with a logarithm more precise than the result, then sign and special cases."""

from __future__ import annotations

import math

from staticgraph.compiler.graph.dtypes import float32, float64, int64
from staticgraph.compiler.kernel.approximate.exponential import exp_of_sum
from staticgraph.compiler.kernel.approximate.logarithm import log_extended
from staticgraph.compiler.kernel.approximate.width import DOUBLE, SINGLE, Width, at_least, at_most, polynomial
from staticgraph.compiler.kernel.expr import Expr
from staticgraph.compiler.kernel.primitives import instructions
from staticgraph.compiler.kernel.primitives.instructions import bitcast, cast

_LOG2 = (  # log2((1 + t)/(1 - t)) / t in t**2
    2.885390081789992, 0.9617966734444015, 0.5770835675290478, 0.4116736673754019, 0.34071398734819347,
)
_EXP2 = (  # 2**r
    1.0, 0.6931472067028329, 0.24022650922289554, 0.05550327226669895, 0.00961805667843204,
    0.0013400428177711937, 0.00015461444724808513,
)


def power(w: Width, x: Expr, y: Expr) -> Expr:
    """x**y, with the special cases of IEEE 754."""
    size = (_power32 if w is SINGLE else _power64)(x, y)
    whole = instructions.eq(instructions.rint(y), y)
    odd = whole & instructions.ne(instructions.rint(y * 0.5), y * 0.5)
    unit = instructions.eq(instructions.abs(x), 1.0) & (whole | (x > 0.0))  # 1, also for infinite y
    size = instructions.select(unit, w.const(1.0), size)
    size = instructions.select((x < 0.0) & ~whole & (x > -math.inf), w.const(math.nan), size)
    size = instructions.select(instructions.ne(x, x) | instructions.ne(y, y), x + y, size)
    result = instructions.select(odd, instructions.copysign(size, x), size)
    return instructions.select(instructions.eq(y, 0.0) | instructions.eq(x, 1.0), w.const(1.0), result)


def _ends(x: Expr, log: Expr) -> Expr:
    """`log`, but right where it is infinite."""
    log = instructions.select(instructions.eq(x, 0.0), DOUBLE.const(-math.inf), log)
    return instructions.select(instructions.eq(x, math.inf), x, log)


def _power32(a: Expr, b: Expr) -> Expr:
    """2**(b*log2|a|) by way of float64, where short polynomials are precise enough."""
    d = DOUBLE
    x, y = instructions.abs(cast(a, float64)), cast(b, float64)
    bits = d.bits_of(x)
    e = (bits - d.bits_of(math.sqrt(0.5))) >> d.integer(d.mantissa)
    m = d.of_bits(bits - d.exponent(e))
    t = (m - 1.0) / (m + 1.0)
    log2 = _ends(x, instructions.fma(polynomial(t * t, _LOG2), t, cast(e, float64)))
    exponent = at_most(at_least(y * log2, -200.0), 200.0)
    shifted = exponent + (d.rounder + d.bias)
    r = exponent - (shifted - (d.rounder + d.bias))
    return cast(polynomial(r, _EXP2) * d.of_bits(d.exponent(bitcast(shifted, int64))), float32)


def _power64(a: Expr, y: Expr) -> Expr:
    """exp(y * log|a|)."""
    x = instructions.abs(a)
    log, log_low = log_extended(x)
    log = _ends(x, log)
    product = y * log
    low = instructions.fma(y, log_low, instructions.fma(y, log, -product))
    # Where the product is not ordinary, the result is 0, 1 or infinite, and the low part might be NaN.
    ordinary = instructions.abs(product) < 1e3
    return exp_of_sum(DOUBLE, product, instructions.select(ordinary, low, DOUBLE.const(0.0)))
