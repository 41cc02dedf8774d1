"""Formulas that lose digits or overflow, in a form that does not."""

from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.rewrite.pattern import variables
from staticgraph.compiler.rewrite.rule import IMPROVES, RuleSet, rule

(x,) = variables("x")

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
