"""Routines that few threads of a GPU could work on are replaced by other operations, or left to the host.

    cholesky(x: float32[1000, 1000])   ->  the same, without statements: NumPy computes it

An op says by `long` if a routine is one. Small ones stay, such as those of a batch of small matrices.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from functools import lru_cache

from staticgraph.compiler.graph.function import Function, Node, Value, transform
from staticgraph.compiler.graph.opdef import OpDef
from staticgraph.compiler.ops.statements.strips import is_long


def long_routines(function: Function) -> Function:
    """`function` without its long routines.

    Raises:
        Undecided: If a size of a matrix is open on which a kernel depends.
    """
    return transform(function, _rebuilt) if any(map(_is_long, function.nodes)) else function


def _is_long(node: Node) -> bool:
    op = node.op
    if op.long is is_long and not op.closed_on_gpu:
        for size in node.inputs[0].shape[-2:]:  # must be known: scratch memory of open sizes there is none
            operator.index(size)
    return op.statements is not None and op.long is not None and op.long(*(v.type for v in node.inputs))


@lru_cache(64)
def _on_host(op: OpDef) -> OpDef:
    return replace(op, statements=None)


def _rebuilt(node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...]:
    if not _is_long(node):
        return node.outputs if inputs == node.inputs else node.outputs[0].recorder.again(node, inputs).outputs
    build = node.outputs[0].recorder
    with build.at(node.where):
        if node.op.expand is not None:
            return (node.op.expand(*inputs, **node.attrs),)
        return build.node(_on_host(node.op), inputs, node.attrs).outputs
