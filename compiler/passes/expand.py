"""Composite ops become the ops that they are written in, wide ops become trees, and markers disappear.

    softmax(x)            ->  exp(x - reduce_max(x)) / reduce_sum(exp(x - reduce_max(x)))
    matmul(z, w)          ->  the same of real numbers, if z and w are complex
    watch(x), identity(x) ->  x

It runs after differentiation, since composites may have gradients that are better than those of their parts.
`narrow.py` makes the trees, and `unread_results.py` leaves out what nothing reads.
"""

from __future__ import annotations

from staticgraph.compiler.graph.errors import RuleError, refused
from staticgraph.compiler.graph.function import Function, Node, Value, lacks_sizes, transform
from staticgraph.compiler.graph.opdef import Kind, recording
from staticgraph.compiler.passes.narrow import is_wide, narrowed

# Markers, and the input that they stand for.
MARKERS = {
    "identity": 0,
    "watch": 0,
    "read_variable": 0,
    "stop_gradient": 0,
    "stationary": 0,
    "override": 1,
}

_SAVES = {"top_k", "self_adjoint_eig", "square_svd"}  # operations without whose further results work is saved


def expand(function: Function) -> Function:
    """`function` without composites, wide ops, markers and costly results that nothing reads."""
    while any(map(_is_expanded, function.nodes)):
        function = transform(function, _rebuild)
    if not _SAVES.isdisjoint(function.op_names):
        # What many graphs have none of must not delay them.
        from staticgraph.compiler.passes.unread_results import without_unread_results

        return without_unread_results(function)
    return function


def _is_expanded(node: Node) -> bool:
    return node.op.name in MARKERS or _is_composite(node) or is_wide(node)


def _is_composite(node: Node) -> bool:
    """Return True if a node is written in other ops: always, or because its numbers are complex."""
    op = node.op
    if op.kind is not Kind.COMPOSITE:
        combines = op.kind in (Kind.CONTRACTION, Kind.REDUCTION) and op.expand is not None
        if not combines or not node.outputs[0].dtype.is_complex:
            return False
    return not lacks_sizes(node)


def _rebuild(node: Node, inputs: tuple[Value, ...]) -> Value | tuple[Value, ...]:
    build = node.outputs[0].recorder
    if node.op.name in MARKERS:
        return inputs[MARKERS[node.op.name]]
    composite = _is_composite(node)
    if not composite and not is_wide(node):
        return build.again(node, inputs).outputs
    with build.at(node.where), recording(build):
        if not composite:
            return narrowed(node, inputs)
        assert node.op.expand is not None
        try:
            return node.op.expand(*inputs, **node.attrs)
        except RuleError as error:
            raise refused(error, node.op.name, node.op.name, node.where) from None
