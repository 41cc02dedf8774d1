"""All rules, to a fixed point:

    exp(x) - 1         ->  expm1(x)
    transpose twice    ->  one transpose, or none
    x * 1 + 0          ->  x

Rules that assume that no NaN and no infinity appears are left out.
"""

from __future__ import annotations

from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.rewrite.engine import Trace, rewrite
from staticgraph.compiler.rewrite.rule import MATH, ROUNDING
from staticgraph.compiler.rules.algebra import algebra
from staticgraph.compiler.rules.logic import logic
from staticgraph.compiler.rules.movement import movement
from staticgraph.compiler.rules.stability import stability

RULES = (stability + algebra + logic + movement).allowed(MATH["relaxed"])
AS_WRITTEN = RULES.allowed(ROUNDING)


def simplify(function: Function, trace: Trace | None = None, improve: bool = True) -> Function:
    """`function` with every rule applied that may change no more than the last digits.

    Args:
        function: The Function.
        trace: Called with the rule, and with the value before and after, for each rule that is applied.
        improve: Apply the rules that improve results, too.
    """
    return rewrite(function, RULES if improve else AS_WRITTEN, trace)
