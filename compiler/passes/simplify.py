"""All rules, to a fixed point:

    exp(x) - 1         ->  expm1(x)
    transpose twice    ->  one transpose, or none
    x * 1 + 0          ->  x

Rules that assume that no NaN and no infinity appears are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.rewrite import MATH, ROUNDING, Inexact, Rule, RuleSet, Trace, rewrite
from staticgraph.compiler.support.lazy_names import load

# Tables of `compiler/rules.py` by their name, and the ops at the roots of their rules: the file is imported
# for graphs that have one of these.
TABLES = {
    "stability": "log log1p realdiv subtract",
    "algebra": "abs add exp log multiply negative pow realdiv sqrt square subtract",
    "logic": "cast logical_and logical_not logical_or maximum minimum select",
    "movement": "broadcast_to pad reduce_max reduce_sum reshape transpose",
    "exponentials": "add subtract",
    "broadcasts": "add multiply realdiv subtract",
    "normalization": "add",
}
# Tables about the result of another op: by that op. Their rules are made, and the op is imported, for graphs
# that have it. No rule brings it into a graph without.
_ABOUT = {"exp": "exponentials", "broadcast_to": "broadcasts", "squared_difference": "normalization"}


def simplify(function: Function, trace: Trace | None = None, improve: bool = True) -> Function:
    """`function` with every rule applied that may change no more than the last digits.

    Args:
        function: The Function.
        trace: Called with the rule, and with the value before and after, for each rule that is applied.
        improve: Apply the rules that improve results, too.
    """
    return rewrite(function, rules_for(function.op_names.intersection(_ABOUT), improve), trace)


@cache
def rules_for(present: frozenset[str], improve: bool) -> RuleSet:
    """Return the rules that can fire in graphs with these ops of those that few graphs have."""
    left_out = [table for op, table in _ABOUT.items() if op not in present]
    tables: dict[str, list[str]] = {}  # by the op
    for table, ops in TABLES.items():
        for op in () if table in left_out else ops.split():
            tables.setdefault(op, []).append(table)
    inexact = MATH["relaxed"] if improve else ROUNDING
    return RuleSet(**{op: partial(_rules_of, op, found, inexact) for op, found in tables.items()})


def _rules_of(op: str, tables: Sequence[str], inexact: Inexact) -> list[Rule]:
    found: list[Rule] = []
    for name in tables:
        table: RuleSet = getattr(load("staticgraph.compiler.rules"), name)
        found += [rule for rule in table.of(op) if rule.inexact in inexact]
    return found


def every_rule(improve: bool = True) -> RuleSet:
    """Return the rules for graphs with any ops."""
    return rules_for(frozenset(_ABOUT), improve)
