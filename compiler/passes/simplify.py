"""All rules, to a fixed point:

    exp(x) - 1         ->  expm1(x)
    transpose twice    ->  one transpose, or none
    x * 1 + 0          ->  x

Rules that assume that no NaN and no infinity appears are left out.
"""

from __future__ import annotations

from functools import cache, partial

from staticgraph.compiler.graph.function import Function
from staticgraph.compiler.rewrite.rule import MATH, ROUNDING, Rule, RuleSet, Trace, rewrite
from staticgraph.compiler.support.lazy_names import load


def _table(file: str, name: str, ops: str) -> RuleSet:
    """A table in a file of `compiler/rules`, which is imported for graphs that have one of `ops`."""
    return RuleSet(**{op: partial(_rules_of, file, name, op) for op in ops.split()})


def _rules_of(file: str, name: str, op: str) -> tuple[Rule, ...]:
    found: RuleSet = getattr(load(f"staticgraph.compiler.rules.{file}"), name)
    return found.of(op)


# By file and name: a table, and the ops at the roots of its rules.
TABLES = {
    ("algebra", "stability"): "log log1p realdiv subtract",
    ("algebra", "algebra"): "abs add exp log multiply negative pow realdiv sqrt square subtract",
    ("logic", "logic"): "cast logical_and logical_not logical_or maximum minimum select",
    ("movement", "movement"): "broadcast_to pad reduce_max reduce_sum reshape transpose",
    ("algebra", "exponentials"): "add subtract",
    ("movement", "broadcasts"): "add multiply realdiv subtract",
}
# Tables about the result of another op: by that op. Their rules are made, and the op is imported, for graphs
# that have it. No rule brings it into a graph without.
_ABOUT = {"exp": ("algebra", "exponentials"), "broadcast_to": ("movement", "broadcasts")}


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
    tables = [_table(*key, ops) for key, ops in TABLES.items() if key not in left_out]
    return RuleSet.joined(tables, MATH["relaxed"] if improve else ROUNDING)


def every_rule(improve: bool = True) -> RuleSet:
    """Return the rules for graphs with any ops."""
    return rules_for(frozenset(_ABOUT), improve)
