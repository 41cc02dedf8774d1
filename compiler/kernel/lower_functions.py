"""Functions of an expression replaced by their formulas, for targets that have no form of their own.

The one exception is sin, cos and tan of huge arguments: these keep the primitive, behind a select, so that a
code generator can skip it while no argument is huge. `Approximation.far` has its formula.
"""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import bfloat16, float16, float32, float64
from staticgraph.compiler.kernel.expr import Expr, Scalar, rebuild, walk
from staticgraph.compiler.kernel.primitives.instructions import CONVERSIONS, Approximation, cast
from staticgraph.compiler.kernel.scalar import primitive_of


def approximation_of(op: str) -> Approximation | None:
    """Return the formulas of a function of floating numbers; None for other primitives."""
    return None if op in CONVERSIONS else primitive_of(op).approximation


def approximate(expr: Expr, fast_math: bool = False, numbers: int = 0) -> Expr:
    """`expr` with every function that has a formula replaced by the formula.

    `numbers`: how many of float32 one instruction picks from, 8 or 16. Then tanh, erf and Bessel functions of
    float32 are looked up, and take a third to three quarters of the time. 0: there is no such instruction.

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
        children = tuple(map(done.__getitem__, node.children))
        same = node if children == node.children else rebuild(node, children)
        if isinstance(same, Scalar) and same.dtype.is_floating and approximation_of(same.op):
            same = _formula(same, fast_math, numbers)
        done[node] = same
    return done[expr]


def _formula(node: Scalar, fast_math: bool, numbers: int) -> Expr:
    from staticgraph.compiler.kernel.approximate.width import DOUBLE, WIDTHS  # of graphs with functions

    dtype, form = node.dtype, approximation_of(node.op)
    assert form is not None
    if dtype is float16 or dtype is bfloat16:  # computed in float32, and rounded once
        wide = Scalar(node.op, tuple(cast(x, float32) for x in node.args), float32)
        return cast(_formula(wide, fast_math, numbers), dtype)
    if dtype is float32 and form.fast and fast_math and not (form.table_is_fastest and numbers):
        return form.fast(WIDTHS[dtype], *node.args)
    if dtype is float32 and form.table and numbers:
        return form.table(WIDTHS[dtype], *node.args, numbers=numbers)
    if dtype is float32 and form.in_float64:
        formula = form.single or form.formula
        return cast(formula(DOUBLE, *(cast(x, float64) for x in node.args)), float32)
    return form.formula(WIDTHS[dtype], *node.args)
