"""Functions as formulas: exp, log, sin and others as polynomials, for targets that have no form of their own.

`approximate` replaces such primitives by expressions of simpler ones (fma, select, bit operations). They are
free of branches and cover all arguments: denormal and infinite ones, NaN, zeros of either sign.
docs/accuracy.md has the error of each, measured by tools/ulp.py. The polynomials are minimax fits of our own.

The one exception is sin, cos and tan of huge arguments: these keep the primitive, behind a select, so that a
code generator can skip it while no argument is huge. `far` has its formula.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from staticgraph.compiler.graph.dtypes import bfloat16, float16, float32, float64
from staticgraph.compiler.kernel.approximate import (
    error_function,
    exponential,
    fast,
    gamma,
    inverse_trigonometric,
    logarithm,
    power,
    tables,
    trigonometric,
)
from staticgraph.compiler.kernel.approximate.trigonometric import far as far
from staticgraph.compiler.kernel.approximate.width import DOUBLE, WIDTHS
from staticgraph.compiler.kernel.expr import Expr, Scalar, rebuild, walk
from staticgraph.compiler.kernel.scalar import cast

Formula = Callable[..., Expr]

FORMULAS: dict[str, Formula] = {
    "exp": exponential.exp,
    "expm1": exponential.expm1,
    "sinh": exponential.sinh,
    "cosh": exponential.cosh,
    "tanh": exponential.tanh,
    "log": logarithm.log,
    "log1p": logarithm.log1p,
    "asinh": logarithm.asinh,
    "acosh": logarithm.acosh,
    "atanh": logarithm.atanh,
    "pow": power.power,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "asin": inverse_trigonometric.asin,
    "acos": inverse_trigonometric.acos,
    "atan": inverse_trigonometric.atan,
    "atan2": inverse_trigonometric.atan2,
    "erf": error_function.erf,
    "erfc": error_function.erfc,
    "lgamma": gamma.lgamma,
    "digamma": gamma.digamma,
}
_IN_FLOAT64 = frozenset({"asinh", "acosh", "atanh", "erfc", "lgamma", "digamma"})  # of float32 as well


def approximate(expr: Expr, fast_math: bool = False, numbers: int = 0) -> Expr:
    """`expr` with every function that has a formula replaced by the formula.

    `numbers`: how many of float32 one instruction picks from, 8 or 16. Then tanh and erf of float32 are
    looked up, and take half to three quarters of the time. 0: there is no such instruction.

    `fast_math`: tanh and erf of float32 have an error of up to 6 units in the last place instead of 2 and
    take about half as long. An erf that is looked up takes no longer, and is left as it is.

    >>> from staticgraph.compiler.kernel import scalar
    >>> from staticgraph.compiler.kernel.expr import Local
    >>> x = Local("x", float32)
    >>> approximate(scalar.sqrt(x)) is scalar.sqrt(x)
    True
    >>> any(isinstance(e, Scalar) and e.op == "exp" for e in walk(approximate(scalar.exp(x))))
    False
    """
    done: dict[Expr, Expr] = {}
    for node in walk(expr):
        children = tuple(done[c] for c in node.children)
        same = node if children == node.children else rebuild(node, children)
        if isinstance(same, Scalar) and same.op in FORMULAS and same.dtype.is_floating:
            same = _formula(same, fast_math, numbers)
        done[node] = same
    return done[expr]


def _formula(node: Scalar, fast_math: bool, numbers: int) -> Expr:
    dtype = node.dtype
    if dtype is float16 or dtype is bfloat16:  # computed in float32, and rounded once
        wide = Scalar(node.op, tuple(cast(x, float32) for x in node.args), float32)
        return cast(_formula(wide, fast_math, numbers), dtype)
    if dtype is float32 and node.op in _IN_FLOAT64:
        return cast(FORMULAS[node.op](DOUBLE, *(cast(x, float64) for x in node.args)), float32)
    forms = _forms_of_float32(fast_math, numbers) if dtype is float32 else FORMULAS
    return forms[node.op](WIDTHS[dtype], *node.args)


@functools.cache
def _forms_of_float32(fast_math: bool, numbers: int) -> dict[str, Formula]:
    forms = dict(FORMULAS)
    if fast_math:
        forms |= {"tanh": fast.tanh, "erf": fast.erf}
    if numbers:
        forms["erf"] = functools.partial(tables.erf, numbers=numbers)
        if not fast_math:
            forms["tanh"] = functools.partial(tables.tanh, numbers=numbers)
    return forms
