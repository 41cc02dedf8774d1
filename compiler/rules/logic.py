"""Truth values, selections and conversions."""

from __future__ import annotations

from staticgraph.compiler.graph.dtypes import DType
from staticgraph.compiler.graph.function import Value
from staticgraph.compiler.graph.opdef import ops
from staticgraph.compiler.rewrite.pattern import attributes, variables
from staticgraph.compiler.rewrite.rule import RuleSet, rule

x, y, p = variables("x y p")
(to,) = attributes("to")


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
        rule("select the same", ops.select(p, x, x), x),
        rule("select by true", ops.select(True, x, y), x),
        rule("select by false", ops.select(False, x, y), y),
        rule("select by not", ops.select(ops.logical_not(p), x, y), ops.select(p, y, x)),
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
