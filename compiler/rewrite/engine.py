"""Rewriting of a Function to a fixed point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.rewrite.rule import Rule, RuleSet

ROUNDS = 12  # walks over the whole Function; each usually leaves nothing for the next but one
STEPS = 40  # rules applied one after the other at one node

Trace = Callable[[Rule, Value, Value], None]


def rewrite(function: Function, rules: RuleSet, trace: Trace | None = None) -> Function:
    """`function` with `rules` applied until none fires.
    `trace(rule, before, after)` is called for each that does.
    """
    settled: set[Value] = set()  # at which no rule will ever fire
    for _ in range(ROUNDS):
        before, function = function, _walk(function, rules, trace, settled)
        if function.results == before.results:
            break
    return function


def _walk(function: Function, rules: RuleSet, trace: Trace | None, settled: set[Value]) -> Function:
    """One walk over all nodes, inputs before users."""
    counts = Counter(v for node in function.nodes for v in node.inputs)
    counts.update(function.results)
    # A node that was rebuilt has no count of its own yet: it is used as often as the one that it replaces.
    uses: dict[Value, int] = dict(counts)

    def rebuild(node: Node, inputs: tuple[Value, ...]) -> Value | tuple[Value, ...]:
        made: tuple[Value, ...] = node.outputs
        if inputs != node.inputs:
            made = node.outputs[0].recorder.again(node, inputs).outputs
        if len(made) == 1:
            made = (_settle(made[0], rules, lambda v: uses.get(v, 1), trace, settled),)
        for old, new in zip(node.outputs, made, strict=True):
            uses.setdefault(new, counts[old])
        return made

    return transform(function, rebuild)


def _settle(
    value: Value,
    rules: RuleSet,
    uses: Callable[[Value], int],
    trace: Trace | None,
    settled: set[Value],
) -> Value:
    """`value` after all rules that fire at its root."""
    for _ in range(STEPS):
        if value in settled:
            break
        candidates = rules.fitting(value.node)
        for each in candidates:
            better = each.apply(value, uses)
            if better is not None:
                if trace is not None:
                    trace(each, value, better)
                value = better
                break
        else:
            if not any(each.single_use for each in candidates):  # values do not change, but their uses do
                settled.add(value)
            break
    return value
