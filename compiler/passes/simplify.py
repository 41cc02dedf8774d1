"""All rules, to a fixed point:

    exp(x) - 1         ->  expm1(x)
    transpose twice    ->  one transpose, or none
    x * 1 + 0          ->  x

Rules that assume that no NaN and no infinity appears are left out.
"""

from __future__ import annotations

from functools import cache

from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.rewrite.engine import Trace, rewrite
from staticgraph.compiler.rewrite.rule import MATH, ROUNDING, RuleSet
from staticgraph.compiler.rules.algebra import algebra
from staticgraph.compiler.rules.logic import logic
from staticgraph.compiler.rules.movement import broadcasts, movement
from staticgraph.compiler.rules.stability import exponentials, stability

_ALWAYS = stability + algebra + logic + movement
# Rules of ops such as an addition that are about the result of another op: by that op. They are made, and the
# op is imported, for graphs that have it. No rule brings it into a graph without.
_ABOUT = {"exp": exponentials, "broadcast_to": broadcasts}


def simplify(function: Function, trace: Trace | None = None, improve: bool = True) -> Function:
    """`function` with every rule applied that may change no more than the last digits.

    Args:
        function: The Function.
        trace: Called with the rule, and with the value before and after, for each rule that is applied.
        improve: Apply the rules that improve results, too.
    """
    present = _ABOUT.keys() & [node.op.name for node in function.nodes]
    return rewrite(function, rules_for(frozenset(present), improve), trace)


@cache
def rules_for(present: frozenset[str], improve: bool) -> RuleSet:
    """Return the rules that can fire in graphs with these ops of those that few graphs have."""
    rules = sum((_ABOUT[op] for op in _ABOUT if op in present), _ALWAYS).allowed(MATH["relaxed"])
    return rules if improve else rules.allowed(ROUNDING)


RULES = rules_for(frozenset(_ABOUT), improve=True)
AS_WRITTEN = rules_for(frozenset(_ABOUT), improve=False)
