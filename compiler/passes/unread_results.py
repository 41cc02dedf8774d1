"""Results that nothing reads are not computed, if that saves work.

    top_k(x, k=9)[0]        ->  top_values(x, k=9)
    -top_k(-x, k=9)[0]      ->  top_values(x, k=9, ascending=True)
    self_adjoint_eig(x)[0]  ->  self_adjoint_eig(x, compute_v=False)[0], and so with singular values

Positions are left out only where it pays: a few of many elements are selected with them as fast.
"""

from __future__ import annotations

from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.graph.opdef import ops, recording
from staticgraph.compiler.ops.ordering.ordered_values import is_worth

_OPPOSITES = ("negative", "invert")  # reverse the order of numbers
# Of operations that make vectors besides values: the attribute that asks for them.
VECTORS = {"self_adjoint_eig": "compute_v", "square_svd": "compute_uv"}


def without_unread_results(function: Function) -> Function:
    """`function` with each such node replaced."""
    read = {v for node in function.nodes for v in node.inputs} | set(function.results)
    unread = {n for n in function.nodes if n.outputs and not read.intersection(n.outputs[1:])}
    best = {n for n in unread if n.op.name == "top_k" and is_worth(n.inputs[0].shape, n.attrs["k"])}
    values = {n for n in unread if n.attrs.get(VECTORS.get(n.op.name, ""))}

    def rebuilt(node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...]:
        build = node.outputs[0].recorder
        with build.at(node.where), recording(build):
            if node in best:
                return ops.top_values(*inputs, k=node.attrs["k"]), node.outputs[1]
            if node in values:
                alone = build.apply(node.op, inputs, {**node.attrs, VECTORS[node.op.name]: False})
                return alone[0], *node.outputs[1:]
            if _is_ascending(node, best):
                (made,) = inputs
                return (ops.top_values(made.node.inputs[0].node.inputs[0], k=made.shape[-1], ascending=True),)
            return build.again(node, inputs).outputs

    return transform(function, rebuilt) if best or values else function


def _is_ascending(node: Node, best: set[Node]) -> bool:
    """Return True if a node is the opposite of the greatest of opposites."""
    if node.op.name not in _OPPOSITES or node.inputs[0].node not in best:
        return False
    return node.inputs[0].node.inputs[0].op is node.op
