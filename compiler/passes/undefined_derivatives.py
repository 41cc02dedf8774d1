"""The error of a derivative that is not known, if a step needs it.

    g = undefined_gradient(x)     made by differentiation, for the op that has no gradient

It is not known while derivatives are taken which of them are needed: those of a loop are by all that it
captures.
"""

from __future__ import annotations

from staticgraph.compiler.graph.errors import GradientError, layout
from staticgraph.compiler.graph.function import Function


def defined(function: Function) -> Function:
    """Return `function`. Raises GradientError if a derivative that is not known is a part of it."""
    for node in function.nodes:
        if node.op.name == "undefined_gradient":
            hint = "stop_gradient() takes the result of the op as a constant"
            raise GradientError(layout(node.attrs["text"], node.where, hint=hint))
    return function
