"""`top_k` whose positions nothing reads becomes an operation that does not compute them.

    top_k(x, k=9)[0]    ->  top_values(x, k=9)
    -top_k(-x, k=9)[0]  ->  top_values(x, k=9, ascending=True)

Only where it pays: a few of many elements are selected with their positions as fast.
"""

from __future__ import annotations

from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.graph.opdef import ops, recording
from staticgraph.compiler.ops.ordered_values import is_worth

_OPPOSITES = ("negative", "invert")  # reverse the order of numbers


def without_positions(function: Function) -> Function:
    """`function` with each such `top_k` replaced."""
    read = {v for node in function.nodes for v in node.inputs} | set(function.results)
    found = {
        n
        for n in function.nodes
        if n.op.name == "top_k" and n.outputs[1] not in read and is_worth(n.inputs[0].shape, n.attrs["k"])
    }

    def rebuilt(node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...]:
        build = node.outputs[0].recorder
        with build.at(node.where), recording(build):
            if node in found:
                return ops.top_values(*inputs, k=node.attrs["k"]), node.outputs[1]
            if _is_ascending(node, found):
                (made,) = inputs
                return (ops.top_values(made.node.inputs[0].node.inputs[0], k=made.shape[-1], ascending=True),)
            return build.again(node, inputs).outputs

    return transform(function, rebuilt) if found else function


def _is_ascending(node: Node, found: set[Node]) -> bool:
    """Return True if a node is the opposite of the greatest of opposites."""
    if node.op.name not in _OPPOSITES or node.inputs[0].node not in found:
        return False
    return node.inputs[0].node.inputs[0].op is node.op
